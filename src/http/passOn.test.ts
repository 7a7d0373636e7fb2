import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createStorage } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';
import { newConversationFolder, putFiles } from '../../test/support/workspace.ts';
import { readZip } from '../../test/support/zip.ts';
import { nodeIdOf } from '../workspaces/node.ts';

const env = {
  SESSION_API_KEY: 'the-same-key-everywhere',
  PARLEY_SECRET_KEY: '11'.repeat(32),
  PARLEY_SANDBOX: 'process',
};

/** Two machines with one database: their folders differ. */
async function startTwo(t: TestContext, secondEnv: Record<string, string> = {}) {
  const storage = await createStorage('postgres');
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(async () => {
    await storage.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const first = await startService({ storage, env }, t);
  const secondStorage = { ...storage, dataDir };
  const second = await startService({ storage: secondStorage, env: { ...env, ...secondEnv } }, t);
  return { first, second };
}

/** A conversation whose workspace is on that machine. */
async function newWorkspace(service: TestService): Promise<string> {
  const { id, folder } = await newConversationFolder(service);
  putFiles(folder, { 'a.txt': 'one\n', 'src/b.txt': 'two\n' });
  const node = nodeIdOf(service.storage.dataDir);
  await inspect(service.storage, `update conversations set workspace_node = '${node}' where id = '${id}'`);
  return id;
}

describe('a request for a workspace on another machine', () => {
  it('gets the same response from every process', async (t) => {
    const { first, second } = await startTwo(t);
    const id = await newWorkspace(first);
    for (const path of ['list-files', 'list-files?path=src', 'select-file?file=a.txt', 'git/changes']) {
      const [here, there] = await Promise.all(
        [first, second].map((service) => service.ask(`/api/conversations/${id}/${path}`)),
      );
      const { request_id: _, ...expected } = here?.body ?? {};
      const { request_id: requestId, ...actual } = there?.body ?? {};
      assert.deepEqual([there?.status, actual], [here?.status, expected], path);
      if (requestId !== undefined) assert.equal(requestId, there?.headers.get('x-request-id'));
    }
  });

  it('streams an archive', async (t) => {
    const { first, second } = await startTwo(t);
    const id = await newWorkspace(first);
    const response = await fetch(`${second.url}/api/conversations/${id}/zip-directory`, {
      headers: { 'x-session-api-key': second.key },
    });
    assert.equal(response.headers.get('content-type'), 'application/zip');
    const files = readZip(Buffer.from(await response.arrayBuffer()));
    assert.deepEqual(files.map(({ name }) => name.toString()).toSorted(), ['a.txt', 'src/', 'src/b.txt']);
  });

  it('reaches a process that only runs conversations, which answers nobody else', async (t) => {
    const { first, second } = await startTwo(t, { PARLEY_ROLE: 'worker' });
    const { id, folder } = await newConversationFolder({ ask: first.ask, storage: second.storage });
    await until(
      'the run',
      async () => (await first.ask(`/api/conversations/${id}`)).body.status === 'RUNNING',
    );
    putFiles(folder, { 'a.txt': 'of the worker\n' });
    const path = `/api/conversations/${id}/select-file?file=a.txt`;
    assert.deepEqual((await first.ask(path)).body, { code: 'of the worker\n' });
    const direct = await fetch(second.url + path, { headers: { 'x-session-api-key': second.key } });
    assert.equal(direct.status, 404);
  });

  it('is refused with 503 and Retry-After if no process there is alive', async (t) => {
    const { first, second } = await startTwo(t);
    const id = await newWorkspace(second);
    await second.stop();
    const { status, body, headers } = await first.ask(`/api/conversations/${id}/list-files`);
    assert.deepEqual([status, body.code, headers.get('retry-after')], [503, 'node_unreachable', '5']);
  });

  it('is refused with 503 if the process there cannot be reached or is not one of the cluster', async (t) => {
    const { first, second } = await startTwo(t);
    const id = await newWorkspace(second);
    const seen: (string | undefined)[] = [];
    const { url } = await listenOnLoopback(t, (request, response) => {
      seen.push(request.headers['x-session-api-key'] as string | undefined);
      response.writeHead(401).end('{}');
    });
    for (const elsewhere of [url, 'http://127.0.0.1:1', 'http://no-such-host.invalid:3000']) {
      await inspect(first.storage, `update nodes set url = '${elsewhere}' where url = '${second.url}'`);
      const { status, body } = await first.ask(`/api/conversations/${id}/list-files`);
      assert.deepEqual([status, body.code], [503, 'node_unreachable'], elsewhere);
      await inspect(first.storage, `update nodes set url = '${second.url}' where url = '${elsewhere}'`);
    }
    assert.deepEqual(seen, [undefined]);
  });

  it('is refused with 503 as soon as the process that hangs counts as dead', async (t) => {
    const { first, second } = await startTwo(t);
    const id = await newWorkspace(first);
    // It accepts connections and never answers, like a process that was stopped.
    const { url, requests } = await listenOnLoopback(t, () => {});
    await inspect(first.storage, `update conversations set workspace_node = 'hangs' where id = '${id}'`);
    await inspect(
      first.storage,
      `insert into nodes (process_id, node_id, url, seen_at) select 'h', 'hangs', '${url}', max(seen_at) from nodes`,
    );
    const answer = second.ask(`/api/conversations/${id}/list-files`);
    await until('it is asked', () => requests.length > 0);
    await inspect(first.storage, "update nodes set seen_at = 0 where process_id = 'h'");
    const { status, body } = await answer;
    assert.deepEqual([status, body.code], [503, 'node_unreachable']);
  });

  it('does not pass on what the sender may not do, and shows nobody the workspace of others', async (t) => {
    const { first, second } = await startTwo(t);
    const id = await newWorkspace(first);
    const { body: other } = await second.ask('/api/keys', {
      json: { name: 'other', user: 'other', scopes: ['conversations:read'] },
    });
    const asOther = await second.ask(`/api/conversations/${id}/list-files`, { key: other.key });
    assert.equal(asOther.status, 404);
    const { body: reader } = await second.ask('/api/keys', {
      json: { name: 'settings', scopes: ['settings:read'] },
    });
    const asReader = await second.ask(`/api/conversations/${id}/list-files`, { key: reader.key });
    assert.equal(asReader.status, 403);
  });
});
