// What a run cannot have more of: events, room on the disk, and runs beside it.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startRuns } from '../../test/support/runs.ts';
import { ending, errorsAndNotices, statesOf } from '../../test/support/runTalk.ts';
import { mountTmpfs, noTmpfs } from '../../test/support/tmpfs.ts';

const kib = 1024;

describe('a run with too much output', () => {
  it('leaves a readable log, with its last output', async (t) => {
    const { create, turns, events } = await startRuns({}, t);
    const id = await create(`flood 2000 1000\n${'run echo one\n'.repeat(1_500)}say the last words`);
    const said = await turns(id, 1);
    assert.ok(said.at(-1)?.endsWith('the last words'));
    const all = await events(id);
    assert.ok(all.length > 2_000 && all.length < 2_020, String(all.length));
    assert.ok(all.every((event) => JSON.stringify(event).length < 140 * kib));
    assert.deepEqual(errorsAndNotices(all), [
      'The agent caused more than 2000 events in one turn. The rest of the turn is not in this log.',
    ]);
    const flood = said.slice(0, -1).join('');
    assert.deepEqual([flood.length, /^x+$/.test(flood)], [2_000_000, true]);
  });
});

describe('a run whose agent dies', () => {
  it('stops with the reason, and keeps what the agent had begun to say', async (t) => {
    const runs = await startRuns({}, t);
    const id = await runs.create('spell half a senten\nrun-forever make\ncrash');
    const { code, message, events } = await ending(runs, id);
    assert.deepEqual([code, message], ['agent_error', 'The agent ended with exit code 1.']);
    const said = events.filter(({ source }) => source === 'agent');
    assert.deepEqual(
      said.map(({ action, observation }) => action ?? observation),
      ['message', 'run', 'run'],
    );
    assert.equal(said[0]?.message, 'half a senten');
    assert.deepEqual(errorsAndNotices(events), [`${message}\nIts last output:\nfake agent: told to crash`]);
  });
});

describe('a run that cannot start', () => {
  it('reports that the secrets of its user are too large for an environment', async (t) => {
    const runs = await startRuns({}, t);
    for (let i = 0; i < 40; i++) {
      const json = { name: `SECRET_${i}`, value: String(i).padEnd(60 * kib, '.') };
      assert.equal((await runs.service.ask('/api/secrets', { json })).status, 201);
    }
    const { code, message } = await ending(runs, await runs.create('say hello'));
    assert.equal(code, 'agent_error');
    assert.match(message, /^The secrets in your settings are too large together/);
  });

  it('stops, and the log says so, if the fault is ours', async (t) => {
    const runs = await startRuns({}, t);
    writeFileSync(join(runs.service.storage.dataDir, 'conversations'), 'no folder');
    const { code, message, events } = await ending(runs, await runs.create('say hello'));
    assert.equal(code, 'agent_error');
    assert.deepEqual(errorsAndNotices(events), [message]);
    assert.equal(statesOf(events).at(-1), 'stopped');
    assert.match(runs.service.logs(), /work in the background failed/);
  });
});

describe('a run that fills its disk', () => {
  it('stops at the limit of the operator', async (t) => {
    const runs = await startRuns({ env: { PARLEY_WORKSPACE_MB: '1' } }, t);
    const id = await runs.create('really-run head -c 2000000 /dev/zero >big\nhang');
    const { code, message, events } = await ending(runs, id);
    assert.equal(code, 'workspace_error');
    assert.match(message, /^The workspace and home folder exceed 1 MB\. Start a new conversation/);
    assert.deepEqual(errorsAndNotices(events), [message]);
  });

  it('also stops if it deletes the file that it writes to', async (t) => {
    const runs = await startRuns({ env: { PARLEY_WORKSPACE_MB: '1' } }, t);
    const write = 'exec 3>big; rm big; head -c 2000000 /dev/zero >&3; sleep 600';
    const { code, message } = await ending(runs, await runs.create(`really-run ${write}`));
    assert.equal(code, 'workspace_error');
    assert.match(message, /^The workspace and home folder exceed 1 MB\./);
  });

  it("stops at the operator's limit of files", async (t) => {
    const runs = await startRuns({ env: { PARLEY_WORKSPACE_FILES: '200' } }, t);
    const id = await runs.create('really-run for i in $(seq 300); do : >$i; done\nhang');
    const { code, message, events } = await ending(runs, id);
    assert.equal(code, 'workspace_error');
    assert.match(message, /^The workspace and home folder exceed 200 files\. .*PARLEY_WORKSPACE_FILES\.$/);
    assert.deepEqual(errorsAndNotices(events), [message]);
  });

  it('is stopped before it has taken all inodes of the file system, and the next one is refused', {
    skip: noTmpfs,
  }, async (t) => {
    const { folder: dataDir, remove } = mountTmpfs(12_000);
    t.after(remove);
    const storage = { dataDir, databaseUrl: undefined, remove: async () => {} };
    const runs = await startRuns({ storage }, t);
    const id = await runs.create('really-run for i in $(seq 3000); do : >$i; done\nhang');
    const few = /^The file system has room for fewer than 10,000 more files \(inodes\)\./;
    const first = await ending(runs, id);
    assert.equal(first.code, 'workspace_error');
    assert.match(first.message, few);
    const second = await ending(runs, await runs.create('say hello'));
    assert.equal(second.code, 'workspace_error');
    assert.match(second.message, few);
    assert.ok(!existsSync(join(dataDir, 'conversations', '2')));
  });
});

describe('a conversation for which there is no run', () => {
  for (const [option, sentence] of [
    ['PARLEY_SLOTS', 'All workers are busy. The conversation starts as soon as one is free.'],
    ['PARLEY_RUNNING_MAX', null],
  ] as const)
    it(`waits until another has ended, and says so, if ${option} is reached`, async (t) => {
      const { create, reaches, turns, info, service } = await startRuns({ env: { [option]: '1' } }, t);
      const busy = await create('hang');
      await reaches(busy, 'RUNNING');
      const { body } = await service.ask('/api/conversations', { json: { initial_user_msg: 'say hello' } });
      assert.deepEqual([body.conversation_status, body.message], ['STARTING', sentence]);
      const { status, start_progress: progress } = await info(body.conversation_id);
      assert.deepEqual([status, progress?.step], ['STARTING', 'waiting_for_worker']);
      await service.ask(`/api/conversations/${busy}/stop`, { method: 'POST' });
      assert.deepEqual(await turns(body.conversation_id, 1), ['hello']);
    });
});
