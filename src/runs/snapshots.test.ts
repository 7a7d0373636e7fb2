// Files of a conversation outlive the machine that ran it.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { commit, git, startGitServer } from '../../test/support/gitServer.ts';
import { inspect } from '../../test/support/inspect.ts';
import { filesOf, type TestEvent } from '../../test/support/runs.ts';
import { shell } from '../../test/support/runTalk.ts';
import { startS3Server, useS3 } from '../../test/support/s3Server.ts';
import { noBubblewrap } from '../../test/support/sandboxes.ts';
import { createCluster, temporaryFolder } from '../../test/support/snapshots.ts';
import { until } from '../../test/support/until.ts';

/** The notices about snapshots. */
function snapshotNotices(events: readonly TestEvent[]): string[] {
  const ids = events.map(({ extras }) => String(extras?.['notice_id'] ?? ''));
  return ids.filter((id) => id.startsWith('SNAPSHOT_'));
}

const makeFiles = 'echo one >a.txt; mkdir -p d; echo two >d/b.txt; git add a.txt; echo kept >"$HOME/kept"';
const showFiles = 'cat a.txt d/b.txt "$HOME/kept"; git status --short';
const shownFiles = 'one\ntwo\nkept\nA  a.txt\n?? d/\n';

describe('a conversation that another machine continues', () => {
  it('has the files and the session that it had after its last turn', async (t) => {
    const cluster = await createCluster(t);
    const first = await cluster.startMachine();
    const id = await cluster.createStored(first, makeFiles);
    await first.service.stop();

    const second = await cluster.startMachine();
    assert.equal(await shell(second, id, 2, showFiles), shownFiles);
    const events = await second.events(id);
    assert.deepEqual(snapshotNotices(events), ['SNAPSHOT_RESTORED']);
    const notice = events.find(({ extras }) => extras?.['notice_id'] === 'SNAPSHOT_RESTORED');
    assert.match(notice?.content ?? '', /^The files were restored from the snapshot of 20\d\d-/);
    // The session of the agent was resumed, so its home is the same.
    const { agents } = await filesOf(second.storage, id);
    assert.equal(agents().length, 2);
    const [row] = await inspect(second.storage, 'select session_from from conversations');
    assert.equal(row?.['session_from'], null);
  });

  it('is in bubblewrap as it was', { skip: noBubblewrap }, async (t) => {
    const cluster = await createCluster(t);
    const first = await cluster.startMachine({ sandbox: 'bubblewrap' });
    const id = await cluster.createStored(first, makeFiles);
    await first.service.stop();
    const second = await cluster.startMachine({ sandbox: 'bubblewrap' });
    assert.equal(await shell(second, id, 2, showFiles), shownFiles);
  });

  it('gets what the remote has from there, also commits that no branch has any more', async (t) => {
    const host = await startGitServer(t);
    const repository = host.repository('team/app');
    commit(repository, 'main', { 'README.md': 'main\n', 'src/a.ts': 'a\n' });
    git(repository, ['config', 'uploadpack.allowAnySHA1InWant', 'true']);
    const cluster = await createCluster(t, { env: { PARLEY_GIT_HOSTS: `github=${host.url}` } });
    const first = await cluster.startMachine();
    const work =
      'git checkout -qb work; echo new >new.txt; git add .; git commit -qm mine; echo b >>src/a.ts';
    const id = await cluster.createStored(first, work, { repository: 'team/app' });
    await first.service.stop();
    // Somebody has replaced the history meanwhile.
    git(repository, ['update-ref', '-d', 'refs/heads/main']);
    commit(repository, 'main', { 'README.md': 'rewritten\n' });

    const second = await cluster.startMachine();
    const output = await shell(
      second,
      id,
      2,
      'cat README.md src/a.ts new.txt; git log --format=%s -1; git status -sb',
    );
    assert.equal(output, 'main\na\nb\nnew\nmine\n## work\n M src/a.ts\n');
  });

  it('stops if the host of the repository fails during the restore, and has its files later', async (t) => {
    let commands = 0;
    let isShaky = false;
    // Every command of Git begins with this request. The first one is the clone, and the next one fetches the files.
    const isDown = ({ url = '' }: IncomingMessage) =>
      isShaky && url.includes('/info/refs') && ++commands === 2;
    const host = await startGitServer(t, { isDown });
    commit(host.repository('team/app'), 'main', { 'README.md': 'main\n' });
    const cluster = await createCluster(t, { env: { PARLEY_GIT_HOSTS: `github=${host.url}` } });
    const first = await cluster.startMachine();
    const id = await cluster.createStored(first, 'echo new >new.txt', { repository: 'team/app' });
    await first.stop(id);
    await first.reaches(id, 'STOPPED');
    await first.service.stop();

    const second = await cluster.startMachine();
    isShaky = true;
    await second.start(id);
    const { stop_reason: reason } = await until('it has stopped', async () => {
      const info = await second.info(id);
      return info.stop_reason?.code === 'workspace_error' && info;
    });
    assert.match(reason?.message ?? '', /503/);
    assert.equal(await shell(second, id, 2, 'cat README.md new.txt'), 'main\nnew\n');
  });

  it('is not resumed with a session that lacks a turn, but has the older files', async (t) => {
    const cluster = await createCluster(t);
    const first = await cluster.startMachine();
    const id = await cluster.createStored(first, 'echo one >a.txt');
    await first.stop(id);
    await first.reaches(id, 'STOPPED');
    await first.service.stop();
    // As if later turns had not been stored.
    await inspect(first.storage, 'update snapshots set heard = 0');
    const second = await cluster.startMachine();
    assert.equal(await shell(second, id, 2, 'cat a.txt'), 'one\n');
    const prompts = readFileSync(join((await filesOf(second.storage, id)).home, 'prompts.jsonl'), 'utf8');
    assert.match(prompts.trim().split('\n').at(-1) ?? '', /This is how the conversation went so far/);
  });

  it('replaces files of an earlier run on that machine', async (t) => {
    const cluster = await createCluster(t);
    const first = await cluster.startMachine();
    const id = await cluster.createStored(first, 'echo old >a.txt; echo old >gone.txt');
    await first.service.stop();
    const second = await cluster.startMachine();
    await shell(second, id, 2, 'echo new >a.txt; rm gone.txt');
    await cluster.stored(id, 2);
    await second.service.stop();
    const back = await cluster.restartMachine(first);
    assert.equal(await shell(back, id, 3, 'cat a.txt; ls'), 'new\na.txt\n');
  });
});

describe('snapshots on SQLite', () => {
  it('bring back files that the machine has lost', async (t) => {
    const cluster = await createCluster(t, { kind: 'sqlite' });
    const machine = await cluster.startMachine();
    const id = await cluster.createStored(machine, makeFiles);
    await machine.stop(id);
    await machine.reaches(id, 'STOPPED');
    await machine.service.stop();
    const { root } = await filesOf(machine.storage, id);
    rmSync(root, { recursive: true });
    const again = await cluster.restartMachine(machine);
    assert.equal(await shell(again, id, 2, showFiles), shownFiles);
  });
});

describe('the snapshot store', () => {
  it('has no readable text, and no blob of an older snapshot', async (t) => {
    const cluster = await createCluster(t);
    const machine = await cluster.startMachine();
    const id = await machine.create(
      'really-run for i in 1 2 3 4 5 6 7 8; do echo my-secret-text >>a.txt; done',
    );
    await machine.turns(id, 1);
    await cluster.stored(id);
    const first = cluster.blobs();
    await shell(machine, id, 2, 'echo more >b.txt');
    await cluster.stored(id, 2);
    await until('old blobs are gone', () => first.some((blob) => !existsSync(blob)));
    const texts = cluster.blobs().map((blob) => readFileSync(blob, 'latin1'));
    assert.ok(texts.length > 0);
    for (const text of texts) assert.doesNotMatch(text, /my-secret-text|a\.txt|ustar/);
    await machine.service.stop();
    const [row] = await inspect(machine.storage, 'select blob from snapshots');
    assert.equal(cluster.blobs().filter((blob) => blob.endsWith(String(row?.['blob']))).length, 1);
    assert.deepEqual(readdirSync(join(machine.storage.dataDir, 'snapshots')), []);
  });

  it('does not stop a run if it cannot be used, which the log says once, and is tried again', async (t) => {
    const cluster = await createCluster(t);
    rmSync(cluster.store, { recursive: true });
    writeFileSync(cluster.store, 'not a folder');
    const machine = await cluster.startMachine();
    const id = await machine.create('really-run echo one >a.txt');
    await machine.turns(id, 1);
    const failed = async () => snapshotNotices(await machine.events(id));
    await until('the notice', async () => (await failed()).length > 0);
    await shell(machine, id, 2, 'echo two >a.txt');
    await shell(machine, id, 3, 'echo three >a.txt');
    assert.deepEqual(await failed(), ['SNAPSHOT_NOT_STORED']);
    rmSync(cluster.store);
    await shell(machine, id, 4, 'echo four >a.txt');
    await cluster.stored(id, 4);
    await machine.service.stop();
    const second = await cluster.startMachine();
    assert.equal(await shell(second, id, 5, 'cat a.txt'), 'four\n');
  });

  it('is filled again by the next run if it was lost', async (t) => {
    const cluster = await createCluster(t);
    const machine = await cluster.startMachine();
    const id = await cluster.createStored(machine, makeFiles);
    for (const blob of cluster.blobs()) rmSync(blob);
    // This snapshot builds on pieces that are gone.
    await shell(machine, id, 2, 'echo more >c.txt');
    await cluster.stored(id, 2);
    await machine.stop(id);
    await machine.reaches(id, 'STOPPED');
    await shell(machine, id, 3, 'true');
    await cluster.stored(id, 3);
    await machine.service.stop();
    const second = await cluster.startMachine();
    assert.equal(await shell(second, id, 4, 'cat a.txt c.txt'), 'one\nmore\n');
  });

  it('does not hold up turns while it hangs', async (t) => {
    const s3 = await startS3Server(t);
    useS3(t, s3);
    const cluster = await createCluster(t, { env: { PARLEY_SNAPSHOTS: 's3://files/x' } });
    const machine = await cluster.startMachine();
    const id = await cluster.createStored(machine, 'echo one >a.txt');
    s3.failWith = 'silence';
    assert.equal(await shell(machine, id, 2, 'echo two >a.txt; cat a.txt'), 'two\n');
    assert.equal(await shell(machine, id, 3, 'echo three >a.txt; cat a.txt'), 'three\n');
    s3.failWith = undefined;
  });

  it('may refuse to remove old blobs, which only the operator is told', async (t) => {
    const s3 = await startS3Server(t);
    useS3(t, s3);
    const cluster = await createCluster(t, { env: { PARLEY_SNAPSHOTS: 's3://files/x' } });
    const machine = await cluster.startMachine();
    s3.refusesDeletes = true;
    const id = await cluster.createStored(machine, 'echo one >a.txt');
    await shell(machine, id, 2, 'echo two >a.txt');
    await cluster.stored(id, 2);
    await until('it is logged', () =>
      machine.service
        .logs()
        .includes('files of old snapshots could not be removed: S3 failed with AccessDenied'),
    );
    assert.deepEqual(snapshotNotices(await machine.events(id)), []);
    const left = s3.objects.size;
    s3.refusesDeletes = false;
    await shell(machine, id, 3, 'echo three >a.txt');
    await until('they are gone', () => s3.objects.size < left);
  });

  it('can be S3', async (t) => {
    const s3 = await startS3Server(t);
    useS3(t, s3);
    const cluster = await createCluster(t, { env: { PARLEY_SNAPSHOTS: 's3://files/x' } });
    const first = await cluster.startMachine();
    const id = await cluster.createStored(first, makeFiles);
    await first.service.stop();
    assert.ok([...s3.objects.keys()].every((key) => key.startsWith('files/x/')));
    const second = await cluster.startMachine();
    assert.equal(await shell(second, id, 2, showFiles), shownFiles);
    assert.doesNotMatch(second.service.logs(), /a-secret-key-of-the-test/);
  });

  for (const [what, damage] of [
    ['changed', (blob: string) => writeFileSync(blob, Buffer.concat([readFileSync(blob), Buffer.from('x')]))],
    ['cut off', (blob: string) => writeFileSync(blob, readFileSync(blob).subarray(0, 20))],
    ['missing', (blob: string) => rmSync(blob)],
  ] as const)
    it(`is not trusted: with a blob that is ${what}, the conversation says so and starts anew`, async (t) => {
      const cluster = await createCluster(t);
      const first = await cluster.startMachine();
      const id = await cluster.createStored(first, 'echo one >a.txt');
      await first.service.stop();
      for (const blob of cluster.blobs()) damage(blob);
      const second = await cluster.startMachine();
      assert.equal(await shell(second, id, 2, 'ls'), '');
      assert.deepEqual(snapshotNotices(await second.events(id)), ['SNAPSHOT_NOT_RESTORED']);
    });

  it('is waited for by a start that needs it', async (t) => {
    const s3 = await startS3Server(t);
    useS3(t, s3);
    const cluster = await createCluster(t, { env: { PARLEY_SNAPSHOTS: 's3://files/x' } });
    const first = await cluster.startMachine();
    const id = await cluster.createStored(first, 'echo one >a.txt');
    await first.stop(id);
    await first.reaches(id, 'STOPPED');
    await first.service.stop();
    s3.failWith = { status: 503, code: 'SlowDown' };
    const second = await cluster.startMachine();
    await second.start(id);
    const details = async () => (await second.info(id)).start_progress?.details ?? '';
    await until('it waits', async () => /snapshot store/.test(await details()));
    s3.failWith = undefined;
    assert.equal(await shell(second, id, 2, 'cat a.txt'), 'one\n');
  });
});

describe('a snapshot', () => {
  it('names what was left out, once', async (t) => {
    const cluster = await createCluster(t, { env: { PARLEY_SNAPSHOT_MB: '1' } });
    const machine = await cluster.startMachine();
    const id = await cluster.createStored(machine, 'head -c 3000000 /dev/zero >large.bin; echo x >small.txt');
    await shell(machine, id, 2, 'echo y >small.txt');
    await cluster.stored(id, 2);
    const events = await machine.events(id);
    assert.deepEqual(snapshotNotices(events), ['SNAPSHOT_INCOMPLETE']);
    const notice = events.find(({ extras }) => extras?.['notice_id'] === 'SNAPSHOT_INCOMPLETE');
    assert.match(notice?.content ?? '', /large\.bin\.$/);
  });

  it('is removed with its conversation', async (t) => {
    const cluster = await createCluster(t);
    const machine = await cluster.startMachine({ times: { worker: { retentionMs: 100 } } });
    const id = await cluster.createStored(machine, 'echo one >a.txt');
    const { status } = await machine.service.ask(`/api/conversations/${id}`, { method: 'DELETE' });
    assert.equal(status, 200);
    await until('its blobs are gone', () => cluster.blobs().length === 0);
  });

  it('is never taken of a local folder', { skip: noBubblewrap }, async (t) => {
    const allowed = realpathSync(temporaryFolder(t));
    const env = { PARLEY_LOCAL_FOLDERS: allowed };
    const cluster = await createCluster(t, { kind: 'sqlite', env });
    const machine = await cluster.startMachine({ sandbox: 'bubblewrap' });
    const id = await machine.create('really-run echo one >a.txt', { local_folder: allowed });
    await machine.turns(id, 1);
    await machine.stop(id);
    await machine.reaches(id, 'STOPPED');
    await machine.service.stop();
    assert.ok(existsSync(join(allowed, 'a.txt')));
    assert.deepEqual(cluster.blobs(), []);
  });
});

describe('the files of a conversation whose machine is gone', () => {
  it('are read from its snapshot', async (t) => {
    const host = await startGitServer(t);
    const repository = host.repository('team/app');
    commit(repository, 'main', { 'README.md': 'main\n', 'src/a.ts': 'a\n' });
    const cluster = await createCluster(t, { env: { PARLEY_GIT_HOSTS: `github=${host.url}` } });
    const first = await cluster.startMachine();
    const id = await first.create('really-run echo b >>src/a.ts; echo new >new.txt', {
      repository: 'team/app',
    });
    await first.turns(id, 1);
    await cluster.stored(id);
    const path = (rest: string) => `/api/conversations/${id}/${rest}`;
    const paths = [
      'list-files',
      'list-files?path=src',
      'select-file?file=README.md',
      'git/changes',
      'git/diff?path=src/a.ts',
      'git/patch',
    ];
    const before = await Promise.all(paths.map((one) => first.service.ask(path(one))));
    await first.stop(id);
    await first.reaches(id, 'STOPPED');
    await first.service.stop();

    const reader = await cluster.startMachine({ env: { PARLEY_ROLE: 'api' } });
    for (const [i, one] of paths.entries()) {
      const { status, text, headers } = await reader.service.ask(path(one));
      assert.deepEqual([status, text], [200, before[i]?.text], one);
      assert.match(headers.get('parley-snapshot-at') ?? '', /^20\d\d-/);
    }
    const zip = await reader.service.ask(path('zip-directory'));
    assert.equal(zip.status, 200);
    assert.equal((await reader.service.ask(path('select-file?file=missing'))).status, 404);
  });

  it('are not there without a snapshot, 503', async (t) => {
    const cluster = await createCluster(t);
    const first = await cluster.startMachine({ env: { PARLEY_SNAPSHOTS: '' } });
    const id = await first.create('really-run echo one >a.txt');
    await first.turns(id, 1);
    await first.stop(id);
    await first.reaches(id, 'STOPPED');
    await first.service.stop();
    const reader = await cluster.startMachine({ env: { PARLEY_ROLE: 'api' } });
    const { status, body } = await reader.service.ask(`/api/conversations/${id}/list-files`);
    assert.deepEqual([status, body.code], [503, 'node_unreachable']);
  });

  it('are refused if the snapshot was changed, 404', async (t) => {
    const cluster = await createCluster(t);
    const first = await cluster.startMachine();
    const id = await first.create('really-run echo one >a.txt');
    await first.turns(id, 1);
    await first.stop(id);
    await first.reaches(id, 'STOPPED');
    await first.service.stop();
    for (const blob of cluster.blobs()) writeFileSync(blob, 'x'.repeat(100));
    const reader = await cluster.startMachine({ env: { PARLEY_ROLE: 'api' } });
    const { status, body } = await reader.service.ask(`/api/conversations/${id}/list-files`);
    assert.deepEqual([status, body.code], [404, 'no_workspace']);
  });
});
