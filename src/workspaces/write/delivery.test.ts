// Files that were uploaded before a conversation was running, and what its agent is told about files.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createStorage, databaseKinds } from '../../../test/support/databases.ts';
import { countRows, inspect } from '../../../test/support/inspect.ts';
import { filesOf, startRuns, writeAgents } from '../../../test/support/runs.ts';
import { startService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { stagedUploads, streamUpload, uploadFiles } from '../../../test/support/uploads.ts';
import { mib } from '../../validation/schema.ts';

const attached = (...paths: string[]) =>
  `[The user attached these files:]\n${paths.map((path) => `- ${path}`).join('\n')}`;

for (const kind of databaseKinds) {
  describe(`files for a conversation that is not running, on ${kind}`, () => {
    it('are in the workspace before the agent gets a message', async (t) => {
      const { create, stop, reaches, turns, service } = await startRuns({ kind }, t);
      const id = await create('say hello');
      await turns(id, 1);
      await stop(id);
      await reaches(id, 'STOPPED');
      const { body } = await uploadFiles(service, id, [['a.txt', 'of the user\n']]);
      assert.equal(body.staged, true);
      const json = { message: 'Read it.', file_urls: [body.files[0].path] };
      assert.equal((await service.ask(`/api/conversations/${id}/message`, { json })).status, 200);
      const { root } = await filesOf(service.storage, id);
      const said = await turns(id, 2);
      assert.match(said.at(-1) ?? '', /Read it\./);
      assert.ok(said.at(-1)?.endsWith(attached(join(root, 'workspace/a.txt'))), said.join());
      assert.equal(readFileSync(join(root, 'workspace/a.txt'), 'utf8'), 'of the user\n');
      assert.equal(await countRows(service.storage, 'uploads'), 0);
      assert.deepEqual(stagedUploads(service), []);
    });

    it('get another name where theirs is taken, and the agent is told that one', async (t) => {
      const { create, stop, reaches, turns, events, service } = await startRuns({ kind }, t);
      const id = await create('say hello');
      await turns(id, 1);
      await stop(id);
      await reaches(id, 'STOPPED');
      const { root } = await filesOf(service.storage, id);
      writeFileSync(join(root, 'workspace/a.txt'), 'was there\n');
      await uploadFiles(service, id, [['a.txt', 'of the user\n']]);
      const json = { message: 'Read it.', file_urls: ['/workspace/a.txt'] };
      await service.ask(`/api/conversations/${id}/message`, { json });
      const said = await turns(id, 2);
      assert.ok(said.at(-1)?.endsWith(attached(join(root, 'workspace/a (1).txt'))), said.join());
      assert.equal(readFileSync(join(root, 'workspace/a.txt'), 'utf8'), 'was there\n');
      const notices = (await events(id)).filter(({ observation }) => observation === 'notice');
      assert.match(notices.at(-1)?.message ?? '', /a\.txt was uploaded as a \(1\)\.txt/);
    });
  });
}

describe('files of a message', () => {
  it('are told to the agent of a running conversation, also without words', async (t) => {
    const { create, turns, service } = await startRuns({}, t);
    const id = await create('say hello');
    await turns(id, 1);
    const { body } = await uploadFiles(service, id, [['a.txt', 'one']], { path: 'upload-files' });
    assert.deepEqual(body, {
      uploaded_files: ['/workspace/a.txt'],
      file_urls: ['/workspace/a.txt'],
      skipped_files: [],
    });
    const file_urls = [...body.file_urls, 'https://a.example/b.pdf'];
    const json = { action: 'message', args: { content: '', file_urls } };
    assert.equal((await service.ask(`/api/conversations/${id}/events`, { json })).status, 200);
    const { root } = await filesOf(service.storage, id);
    const said = await turns(id, 2);
    assert.equal(
      said.at(-1),
      `You said: ${attached(join(root, 'workspace/a.txt'), 'https://a.example/b.pdf')}`,
    );
  });
});

describe('files on a cluster', () => {
  const env = { SESSION_API_KEY: 'the-same-key-everywhere', PARLEY_SECRET_KEY: '11'.repeat(32) };

  /** A process that only answers, and one on another machine that runs conversations. */
  async function startCluster(t: TestContext) {
    const storage = await createStorage('postgres');
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-test-'));
    t.after(async () => {
      await storage.remove();
      rmSync(dataDir, { recursive: true, force: true });
    });
    writeAgents(storage.dataDir);
    const api = await startService({ storage, env: { ...env, PARLEY_SANDBOX: 'process' } }, t);
    const startWorker = () => startRuns({ storage: { ...storage, dataDir }, env }, t);
    return { api, startWorker, workerDir: dataDir };
  }

  it('wait where they arrived, and are fetched by the machine that runs the conversation', async (t) => {
    const { api, startWorker, workerDir } = await startCluster(t);
    await api.ask('/api/settings', { json: { agent: 'fake' } });
    const { body } = await api.ask('/api/conversations', { json: { initial_user_msg: 'say hello' } });
    const id: string = body.conversation_id;
    const content = Buffer.alloc(3_000_000, 'z');
    assert.equal((await uploadFiles(api, id, [['a.bin', content]])).body.staged, true);
    assert.equal(stagedUploads(api).length, 1);
    const { turns, service } = await startWorker();
    await turns(id, 1);
    const { root } = await filesOf({ ...service.storage, dataDir: workerDir }, id);
    assert.ok(readFileSync(join(root, 'workspace/a.bin')).equals(content));
    assert.equal(await countRows(api.storage, 'uploads'), 0);

    const direct = await uploadFiles(api, id, [['b.txt', 'of the other machine']]);
    assert.deepEqual([direct.status, direct.body.staged], [200, false]);
    assert.equal(readFileSync(join(root, 'workspace/b.txt'), 'utf8'), 'of the other machine');
    const refused = await uploadFiles(api, id, [['../c.txt', 'evil']]);
    assert.equal(refused.body.skipped.length, 1);
    const tooMany = Array.from({ length: 1_000 }, (_, i) => [`${i}.txt`, 'x'.repeat(5_000)] as const);
    const { status, body: fault } = await uploadFiles(api, id, tooMany);
    assert.deepEqual([status, fault.code], [413, 'body_too_large']);
    function* large() {
      for (let i = 0; i < 1_024; i++) yield Buffer.alloc(mib);
    }
    const { sentBytes, ...large1 } = await streamUpload(api, `/api/conversations/${id}/files`, large());
    assert.deepEqual([large1.status, large1.body.code], [413, 'body_too_large']);
    assert.ok(sentBytes < 512 * mib, `${sentBytes} bytes were read`);
    assert.deepEqual(readdirSync(join(root, 'workspace')).toSorted(), ['.git', 'a.bin', 'b.txt']);
  });

  it('are reported if their machine is gone, and the conversation goes on', async (t) => {
    const { api, startWorker } = await startCluster(t);
    await api.ask('/api/settings', { json: { agent: 'fake' } });
    const { body } = await api.ask('/api/conversations', { json: { initial_user_msg: 'say hello' } });
    const id: string = body.conversation_id;
    await uploadFiles(api, id, [['a.txt', 'one']]);
    await inspect(api.storage, `update uploads set node_id = 'gone'`);
    const { turns, events } = await startWorker();
    assert.deepEqual(await turns(id, 1), ['hello']);
    const notices = await until('it is reported', async () => {
      const found = (await events(id)).filter(({ observation }) => observation === 'notice');
      return found.length > 0 && found;
    });
    assert.match(notices[0]?.message ?? '', /machine that cannot be reached/);
    assert.equal(notices.length, 1);
  });

  it('are given only to other processes', async (t) => {
    const service = await startService({}, t);
    const { body } = await service.ask('/api/conversations', { json: {} });
    await uploadFiles(service, body.conversation_id, [['a.txt', 'one']]);
    const [upload] = stagedUploads(service);
    const path = `/api/conversations/${body.conversation_id}/uploads/${upload}`;
    assert.equal((await service.ask(path)).status, 404);
  });
});
