// Files of a conversation outlive the machine that ran it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { commit, git, startGitServer } from '../../test/support/gitServer.ts';
import { inspect } from '../../test/support/inspect.ts';
import { filesOf } from '../../test/support/runs.ts';
import { shell } from '../../test/support/runTalk.ts';
import { noBubblewrap } from '../../test/support/sandboxes.ts';
import {
  createCluster,
  makeFiles,
  showFiles,
  shownFiles,
  snapshotNotices,
  stopsWithFault,
  temporaryFolder,
} from '../../test/support/snapshots.ts';
import { until } from '../../test/support/until.ts';
import { uploadFiles } from '../../test/support/uploads.ts';

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
    assert.match(await stopsWithFault(second, id), /503/);
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
    assert.match(notice?.content ?? '', /: large\.bin \(3\.0 MB, larger than .*\)\.$/);
  });

  it('is there before the first turn has ended', async (t) => {
    const cluster = await createCluster(t);
    const machine = await cluster.startMachine();
    const id = await machine.create('hang');
    await machine.reaches(id, 'RUNNING');
    await until('it is stored', async () => (await cluster.pointer(id))?.['heard'] !== undefined);
    assert.equal(Number((await cluster.pointer(id))?.['heard']), -1);
  });

  it('is not restored over the workspace of a conversation whose agent did not start', async (t) => {
    const cluster = await createCluster(t);
    const machine = await cluster.startMachine({ settings: { agent: 'slow' } });
    const id = await machine.create('really-run echo one >a.txt');
    await until('the new workspace is stored', () => cluster.pointer(id));
    await machine.stop(id);
    await machine.reaches(id, 'STOPPED');
    const { root } = await filesOf(machine.storage, id);
    writeFileSync(join(root, 'workspace/ignored.txt'), 'kept\n');
    await machine.service.ask('/api/settings', { json: { agent: 'fake' } });
    await machine.start(id);
    await machine.turns(id, 1);
    assert.deepEqual(snapshotNotices(await machine.events(id)), []);
    assert.equal(readFileSync(join(root, 'workspace/ignored.txt'), 'utf8'), 'kept\n');
  });

  it('has what the user did in the terminal and uploaded, also through another process', async (t) => {
    const cluster = await createCluster(t);
    const first = await cluster.startMachine();
    const id = await cluster.createStored(first, 'echo one >a.txt');
    const changes = async (work: () => Promise<unknown>) => {
      const before = (await cluster.pointer(id))?.['blob'];
      await work();
      await until('it is stored', async () => (await cluster.pointer(id))?.['blob'] !== before);
    };
    const json = { action: 'run', args: { command: 'echo typed >b.txt' } };
    await changes(() => first.service.ask(`/api/conversations/${id}/events`, { json }));
    await changes(() => uploadFiles(first.service, id, [['c.txt', 'sent\n']]));
    const other = await cluster.restartMachine(first, { env: { PARLEY_ROLE: 'api' } });
    await changes(() => uploadFiles(other.service, id, [['d.txt', 'passed on\n']]));
    // The process goes on, but its machine counts as lost.
    await inspect(first.storage, `update conversations set workspace_node = 'gone' where id = '${id}'`);
    const paths = ['b.txt', 'c.txt', 'd.txt'];
    const read = (path: string) => other.service.ask(`/api/conversations/${id}/select-file?file=${path}`);
    const texts = (await Promise.all(paths.map(read))).map(({ body }) => body.code);
    assert.deepEqual(texts, ['typed\n', 'sent\n', 'passed on\n']);
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

  it('are refused if the snapshot was changed, and the error says what the operator can do, 409', async (t) => {
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
    assert.deepEqual([status, body.code], [409, 'snapshot_unusable']);
    assert.match(body.error, /the blob \w+\/\w+ in the snapshot store was changed\./);
    assert.match(body.error, new RegExp(`parley snapshots discard ${id} --user NAME$`));
  });
});
