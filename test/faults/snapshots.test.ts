// Real processes on two machines: one is killed, and the other goes on with its files.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { inspect } from '../support/inspect.ts';
import { type TestEvent, writeAgents } from '../support/runs.ts';
import { type S3Server, s3Variables, startS3Server } from '../support/s3Server.ts';
import { temporaryFolder } from '../support/snapshots.ts';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';

const takeoverMax = 30_000;

async function startSite(t: TestContext, snapshots: Record<string, string>) {
  const { site, serve } = await createWorkerSite('postgres', t);
  const shared = {
    PARLEY_SECRET_KEY: randomBytes(32).toString('hex'),
    SESSION_API_KEY: 'the-key-of-both',
    ...snapshots,
  };
  const dataDir = site.createDir();
  writeAgents(dataDir);
  const stored = async (blob?: unknown) =>
    until('a snapshot of a turn is complete', async () => {
      // The first one, of the new workspace, has heard nothing.
      const [row] = await inspect(
        site.storage,
        'select blob from snapshots where blob is not null and heard >= 0',
      );
      return row !== undefined && row['blob'] !== blob && row['blob'];
    });
  return {
    stored,
    startFirst: () => serve(shared),
    startSecond: () => serve({ ...shared, PARLEY_DATA_DIR: dataDir }),
  };
}

const outputs = (events: readonly TestEvent[]) =>
  events.filter(({ observation }) => observation === 'run').map(({ content }) => content);

describe('a machine that is lost', { timeout: 300_000 }, () => {
  it('leaves its files to another one, which continues in the middle of a turn', async (t) => {
    const { stored, startFirst, startSecond } = await startSite(t, { PARLEY_SNAPSHOTS: temporaryFolder(t) });
    const first = await startFirst();
    await first.set({ agent: 'fake' });
    const id = await first.create('really-run echo one >a.txt');
    await stored();
    await first.say(id, 'really-run echo two >a.txt; echo written\nhang');
    await until('it works', async () => outputs(await first.events(id)).includes('written\n'));
    first.send('SIGKILL');
    const second = await startSecond();
    await until(
      'the other machine restores the files',
      async () =>
        (await second.events(id)).some(({ extras }) => extras?.['notice_id'] === 'SNAPSHOT_RESTORED'),
      takeoverMax,
    );
    await second.cancel(id);
    await second.say(id, 'really-run cat a.txt');
    await until('its agent has them', async () => outputs(await second.events(id)).at(-1) === 'one\n');
  });

  it('leaves its files to readers at once, without a restart of the conversation', async (t) => {
    const { stored, startFirst, startSecond } = await startSite(t, { PARLEY_SNAPSHOTS: temporaryFolder(t) });
    const first = await startFirst();
    await first.set({ agent: 'fake' });
    const id = await first.create('really-run echo one >a.txt');
    await stored();
    await first.stop(id);
    await first.reaches(id, 'STOPPED');
    const second = await startSecond();
    const path = `/api/conversations/${id}/select-file?file=a.txt`;
    const { status, headers } = await second.ask(path);
    assert.deepEqual([status, headers.get('parley-snapshot-at')], [200, null], 'the machine answers itself');
    first.send('SIGKILL');
    await first.ended();
    const { status: after, body, headers: told } = await second.ask(path);
    assert.deepEqual([after, body], [200, { code: 'one\n' }]);
    assert.match(told.get('parley-snapshot-at') ?? '', /^20\d\d-/);
    assert.equal((await second.info(id)).status, 'STOPPED');
  });

  it('leaves the last good snapshot if it dies while it stores the next one', async (t) => {
    const s3: S3Server = await startS3Server(t);
    const snapshots = { PARLEY_SNAPSHOTS: 's3://files/x', ...s3Variables(s3) };
    const { stored, startFirst, startSecond } = await startSite(t, snapshots);
    const first = await startFirst();
    await first.set({ agent: 'fake' });
    const id = await first.create('really-run echo one >a.txt');
    const blob = await stored();
    const puts = () => s3.requests.filter((request) => request.startsWith('PUT')).length;
    const before = puts();
    const earlier = new Set(s3.objects.keys());
    // The first blobs of the next snapshot arrive, but not all.
    s3.failAfterPuts = 1;
    await first.say(id, 'really-run echo two >a.txt');
    await until('it stores the next one', () => puts() > before + 1);
    first.send('SIGKILL');
    await first.ended();
    const begun = new Set(s3.objects.keys()).difference(earlier);
    assert.notEqual(begun.size, 0);
    s3.failAfterPuts = undefined;
    s3.failWith = undefined;
    const second = await startSecond();
    await second.say(id, 'really-run cat a.txt');
    await until(
      'it has the older files',
      async () => outputs(await second.events(id)).at(-1) === 'one\n',
      takeoverMax,
    );
    await stored(blob);
    await until('what the first one had begun to store is removed', () =>
      begun.isDisjointFrom(new Set(s3.objects.keys())),
    );
  });
});
