// Commands that the user types, which the run executes in its sandbox.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createStorage, databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { openLiveStream, openTextOf } from '../../test/support/partials.ts';
import { filesOf, type Runs, startRuns, type TestEvent } from '../../test/support/runs.ts';
import { noBubblewrap } from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';
import { uploadFiles } from '../../test/support/uploads.ts';
import { makeFolder, openWriteSandbox } from '../../test/support/workspace.ts';
import { decodeEvent } from '../events/decoded.ts';
import { createRunPartials } from '../events/partials/runPartials.ts';
import { createMasking } from './masking.ts';
import type { UserCommand } from './prompts/inbox.ts';
import type { NewStep } from './recorder.ts';
import { createUserCommands } from './userCommands.ts';

function sendCommand({ service }: Runs, id: string, command: string, key?: string) {
  const json = { action: 'run', args: { command, hidden: false, extra: 1 } };
  return service.ask(`/api/conversations/${id}/events`, { json, ...(key === undefined ? {} : { key }) });
}

/** Waits until this many commands of the user have a result, and returns the results. */
function results({ events }: Runs, id: string, count: number): Promise<TestEvent[]> {
  return until(`${count} commands have ended`, async () => {
    const found = (await events(id)).filter(
      ({ source, observation }) => source === 'user' && observation === 'run',
    );
    return found.length >= count && found;
  });
}

for (const kind of databaseKinds) {
  describe(`a command of the user on ${kind}`, () => {
    it('runs in the sandbox without approval, and its masked output is its result', async (t) => {
      const runs = await startRuns({ kind, settings: { confirmation_mode: true } }, t);
      await runs.service.ask('/api/secrets', {
        json: { name: 'DEPLOY_KEY', value: 'very-secret-value', description: '' },
      });
      const id = await runs.create('say hello');
      await runs.turns(id, 1);
      const command = 'pwd; echo $DEPLOY_KEY; echo "it\'s" >&2; exit 3';
      assert.equal((await sendCommand(runs, id, command)).status, 200);
      const [result] = await results(runs, id, 1);
      const { root } = await filesOf(runs.service.storage, id);
      assert.match(result?.content ?? '', new RegExp(`^${join(root, 'workspace')}$`, 'm'));
      assert.match(result?.content ?? '', /it's/);
      assert.match(result?.content ?? '', /\*{10}/);
      assert.deepEqual(result?.extras, { command, metadata: { exit_code: 3 }, outcome: 'failed' });
      const action = (await runs.events(id))[result?.cause ?? -1];
      assert.deepEqual([action?.source, action?.action, action?.args?.['command']], ['user', 'run', command]);
      const [row] = await inspect(runs.service.storage, 'select commands, command_from from conversations');
      assert.deepEqual([Number(row?.['commands']), row?.['command_from']], [0, null]);
      await runs.say(id, 'say still here');
      assert.equal((await runs.turns(id, 2)).at(-1), 'still here');
    });

    it('waits for those before it, and is refused if too many wait', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('say hello');
      await runs.turns(id, 1);
      const { root } = await filesOf(runs.service.storage, id);
      await sendCommand(runs, id, 'until test -e go; do sleep 0.02; done; echo 0 >> order');
      for (let i = 1; i < 10; i++)
        assert.equal((await sendCommand(runs, id, `echo ${i} >> order`)).status, 200);
      const { status, body } = await sendCommand(runs, id, 'echo 10 >> order');
      assert.deepEqual([status, body.code], [422, 'limit_reached']);
      writeFileSync(join(root, 'workspace/go'), '');
      await results(runs, id, 10);
      assert.equal(readFileSync(join(root, 'workspace/order'), 'utf8'), '0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n');
      assert.equal((await sendCommand(runs, id, 'true')).status, 200);
    });

    it('gets a result that says so if the conversation is stopped, and is not run again', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('say hello');
      await runs.turns(id, 1);
      const { root } = await filesOf(runs.service.storage, id);
      const started = join(root, 'workspace/started');
      await sendCommand(runs, id, 'echo once >> started; sleep 600');
      await sendCommand(runs, id, 'echo never >> started');
      await until('it runs', () => existsSync(started) && readFileSync(started, 'utf8') === 'once\n');
      await runs.stop(id);
      const found = await results(runs, id, 2);
      assert.deepEqual(
        found.map(({ extras }) => extras?.['outcome']),
        ['unfinished', 'unfinished'],
      );
      const { status, body } = await sendCommand(runs, id, 'true');
      assert.deepEqual([status, body.code], [409, 'not_running']);
      await runs.start(id);
      await runs.reaches(id, 'RUNNING');
      await sendCommand(runs, id, 'echo again >> started');
      await results(runs, id, 3);
      assert.equal(readFileSync(started, 'utf8'), 'once\nagain\n');
    });

    it('is neither lost nor run twice if its process ends', async (t) => {
      const storage = await createStorage(kind);
      const runs = await startRuns({ storage }, t);
      t.after(() => storage.remove());
      const id = await runs.create('say hello');
      await runs.turns(id, 1);
      const { root } = await filesOf(storage, id);
      const started = join(root, 'workspace/started');
      await sendCommand(runs, id, 'echo once >> started; sleep 600');
      await until('it runs', () => existsSync(started) && readFileSync(started, 'utf8') === 'once\n');
      await runs.service.stop();
      const next = await startRuns({ storage }, t);
      await next.reaches(id, 'RUNNING');
      const [result] = await results(next, id, 1);
      assert.equal(result?.extras?.['outcome'], 'unfinished');
      // It is refused as long as no run has the conversation again.
      await until(
        'it is accepted',
        async () => (await sendCommand(next, id, 'echo again >> started')).status < 300,
      );
      await results(next, id, 2);
      assert.equal(readFileSync(started, 'utf8'), 'once\nagain\n');
    });
  });
}

describe('a command of the user', () => {
  it('shows its output while it runs, masked', async (t) => {
    const runs = await startRuns({}, t);
    await runs.service.ask('/api/secrets', { json: { name: 'DEPLOY_KEY', value: 'very-secret-value' } });
    const id = await runs.create('say hello');
    await runs.turns(id, 1);
    const stream = await openLiveStream(runs.service, id);
    const command =
      'echo one; printf very-; sleep 0.1; printf secret-value; until [ -e go ]; do sleep 0.01; done';
    await sendCommand(runs, id, command);
    await until('its output is there', () => openTextOf(stream) === 'one\n**********');
    const { root } = await filesOf(runs.service.storage, id);
    writeFileSync(join(root, 'workspace', 'go'), '');
    await results(runs, id, 1);
    await until('it is replaced', () => openTextOf(stream) === '');
    assert.ok(!stream.text().includes('"very-'));
  });

  it('runs where the agent does, and sees uploaded files', { skip: noBubblewrap }, async (t) => {
    const runs = await startRuns({ sandbox: 'bubblewrap' }, t);
    const id = await runs.create('say hello');
    await runs.turns(id, 1);
    assert.equal((await uploadFiles(runs.service, id, [['a.txt', 'uploaded']])).body.staged, false);
    await runs.stop(id);
    await runs.reaches(id, 'STOPPED');
    assert.equal((await uploadFiles(runs.service, id, [['b.txt', ' both']])).body.staged, true);
    await runs.start(id);
    await runs.reaches(id, 'RUNNING');
    await until('the file has arrived', async () =>
      (await runs.service.ask(`/api/conversations/${id}/list-files`)).body.includes('b.txt'),
    );
    await sendCommand(runs, id, 'pwd; cat a.txt b.txt; sleep 600 &');
    const [result] = await results(runs, id, 1);
    assert.equal(result?.content, '/workspace\nuploaded both');
  });

  it('is refused if it is empty, too long, of somebody else, or for no conversation', async (t) => {
    const runs = await startRuns({}, t);
    const id = await runs.create('say hello');
    await runs.turns(id, 1);
    assert.equal((await sendCommand(runs, id, '')).status, 422);
    assert.equal((await sendCommand(runs, id, 'x'.repeat(20_000))).status, 422);
    assert.equal((await sendCommand(runs, 'none', 'true')).status, 404);
    const { body } = await runs.service.ask('/api/keys', { json: { name: 'k', user: 'other' } });
    assert.equal((await sendCommand(runs, id, 'true', body.key)).status, 404);
  });

  function command(id: number, text: string): UserCommand {
    const event = {
      id,
      timestamp: '2026-01-01T00:00:00.000Z',
      source: 'user',
      message: '',
      action: 'run',
      args: { command: text, thought: '' },
      tool_call_id: `user-${id}`,
    };
    return decodeEvent(event) as UserCommand;
  }

  /** Runs them outside of a run, and returns the content of the only result. */
  async function contentOf(folder: string, commands: readonly UserCommand[], timeoutMs?: number) {
    const { promise, resolve, reject } = Promise.withResolvers<NewStep>();
    const { add } = createUserCommands({
      sandbox: await openWriteSandbox(folder),
      variables: {},
      recorder: {
        add: async () => {},
        recordPending: () => undefined,
        step: async (step) => {
          resolve(step);
          return 0;
        },
        recordFinal: async () => {},
      },
      masking: createMasking([]),
      texts: createRunPartials(),
      watch: (work) => void Promise.resolve(work()).catch(reject),
      signal: new AbortController().signal,
      from: 5,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    for (const one of commands) add(one);
    const [event] = (await promise).events ?? [];
    return event !== undefined && 'content' in event ? event.content : '';
  }

  it('keeps only the end of a long output', async (t) => {
    const content = await contentOf(makeFolder(t), [command(5, 'seq 1 200000')]);
    assert.ok(content.length <= 65_536);
    assert.match(content, /\n200000\n$/);
  });

  it('is ended at its timeout', async (t) => {
    const content = await contentOf(makeFolder(t), [command(5, 'sleep 600')], 300);
    assert.equal(content, '\n[The command was ended after 0.3 s.]');
  });

  it('is not run if it was sent to an earlier run', async (t) => {
    const folder = makeFolder(t);
    const content = await contentOf(folder, [command(4, 'touch earlier'), command(5, 'ls')]);
    assert.equal(content, '');
  });
});
