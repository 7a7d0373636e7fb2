// `parley acp` as editors start it: it finds or starts a service, and loses nothing when that dies.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { methods, type SessionUpdate } from '@agentclientprotocol/sdk';
import { createEditorSite, serviceOf, startEditor } from '../support/acpProcess.ts';
import { createStorage, databaseKinds } from '../support/databases.ts';
import { plainFolder, temporaryFolder } from '../support/localFolder.ts';
import { letAgentGo } from '../support/partials.ts';
import { createSite } from '../support/process.ts';
import { mainFile } from '../support/program.ts';
import { noBubblewrap } from '../support/sandboxes.ts';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';

const { session } = methods.agent;
const authRequired = -32_000;

function assertOnlyJsonRpc(lines: readonly string[]): void {
  assert.ok(lines.length > 0);
  for (const line of lines) assert.equal(JSON.parse(line).jsonrpc, '2.0', line);
}

/** Takes the usual port, unless another program has it already. */
async function takeUsualPort(t: TestContext): Promise<void> {
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer();
    t.after(async () => void server.close());
    await new Promise((done) => server.on('error', done).listen(3_000, host, () => done(undefined)));
  }
}

describe('parley acp', { timeout: 300_000 }, () => {
  it('starts a service for a new data folder, on another port if the usual one is taken', async (t) => {
    await takeUsualPort(t);
    const site = createEditorSite(t, { exists: false });
    const editor = site.open({ PORT: '' });
    const client = await editor.connect();
    const id = await client.newSession();
    const service = serviceOf(site.dataDir);
    assert.ok(service !== undefined && !service.url.endsWith(':3000'), service?.url ?? 'no service runs');

    editor.closeInput();
    assert.deepEqual(await editor.ended(), { code: 0, signal: null });
    assertOnlyJsonRpc(editor.lines());
    assert.equal((await fetch(`${service.url}/alive`)).status, 200, 'the service outlives its editor');

    const next = site.open({ PORT: '' });
    const { sessions } = await (await next.connect()).context.request(session.list, {});
    assert.deepEqual(
      sessions.map(({ sessionId }) => sessionId),
      [id],
    );
    assert.deepEqual(serviceOf(site.dataDir), service, 'the service that runs is used');
    next.send('SIGTERM');
    await next.ended();
    assert.equal((await fetch(`${service.url}/alive`)).status, 200);
  });

  it('shares one service with an editor that starts at the same time', async (t) => {
    const site = createEditorSite(t, { exists: false });
    const editors = Array.from({ length: 3 }, () => site.open());
    const ids = await Promise.all(editors.map(async (editor) => (await editor.connect()).newSession()));
    const last = await site.open().connect();
    const { sessions } = await last.context.request(session.list, {});
    assert.deepEqual(sessions.map(({ sessionId }) => sessionId).sort(), ids.sort());
  });

  it('says where the log is if the service cannot start, and tries again with the next request', async (t) => {
    const site = createEditorSite(t);
    const database = join(site.dataDir, 'parley.db');
    mkdirSync(database);
    const editor = site.open();
    const client = await editor.connect();
    await assert.rejects(client.newSession(), ({ message }: Error) =>
      message.includes(join(site.dataDir, 'service.log')),
    );
    rmSync(database, { recursive: true });
    assert.match(await client.newSession(), /./);
    assertOnlyJsonRpc(editor.lines());
  });

  it('ends with its editor while the agent works, and the next one finds the answer', async (t) => {
    const site = createEditorSite(t);
    const editor = site.open();
    const client = await editor.connect();
    await site.useFakeAgent();
    const id = await client.newSession();
    client.prompt(id, 'chunks One|@go| two').catch(() => {});
    await until('the turn has begun', () => client.text(id) === 'One');
    editor.closeInput();
    assert.deepEqual(await editor.ended(), { code: 0, signal: null });
    const next = await site.open().connect();
    await next.context.request(session.load, { sessionId: id, cwd: '/', mcpServers: [] });
    await until('it has what was written meanwhile', () => next.text(id) === 'One');
    await letAgentGo(site, id, 'go');
    await until('it has the rest', () => next.text(id) === 'One two');
  });
});

describe('parley acp with a service that somebody else has started', { timeout: 300_000 }, () => {
  it('waits until it is back, and starts no other one', async (t) => {
    const { site, serve } = await createWorkerSite('sqlite', t, mainFile);
    const service = await serve();
    await service.set({ agent: 'fake' });
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: site.createDir(),
      PARLEY_DATA_DIR: site.storage.dataDir,
    };
    const client = await startEditor(env, t).connect();
    const id = await client.newSession();
    const turn = client.prompt(id, 'say One\nchunks Two|@never');
    await until('the turn has begun', () => client.text(id) === 'OneTwo');
    service.send('SIGTERM');
    await service.ended();
    await assert.rejects(client.newSession(), /Start it again as it was started before/);
    assert.equal(serviceOf(site.storage.dataDir), undefined);
    await serve();
    assert.equal(await turn, 'end_turn');
  });
});

describe('the folder of an editor', { timeout: 300_000 }, () => {
  async function openIn(t: TestContext, cwd: string, env: Record<string, string> = {}) {
    const site = createEditorSite(t);
    const client = await site.open(env).connect({ capabilities: { session: { notices: {} } } });
    const runs = await site.useFakeAgent();
    const { sessionId: id } = await client.context.request(session.new, { cwd, mcpServers: [] });
    const notices = () =>
      client.updates(id).flatMap((update) => (update.sessionUpdate === 'notice' ? [update.title] : []));
    return { client, runs, id, notices };
  }

  it('is copied, and the client is told how to get the changes', async (t) => {
    const { path, write } = plainFolder(t);
    write('a.txt', 'mine');
    const { client, id, notices } = await openIn(t, path);
    await client.prompt(id, 'cat a.txt');
    assert.equal(client.text(id), 'mine');
    // A notice of the service may come before or between them.
    const shown = notices().join('\n');
    assert.match(shown, /a copy of its 1 file\.\n.*parley pull /s);
    await client.prompt(id, 'edit a.txt theirs');
    assert.equal(readFileSync(join(path, 'a.txt'), 'utf8'), 'mine');
    const { sessions } = await client.context.request(session.list, { cwd: path });
    assert.deepEqual(
      sessions.map(({ sessionId, cwd }) => [sessionId, cwd]),
      [[id, path]],
    );
  });

  it('is where the agent works if the service allows it', { skip: noBubblewrap }, async (t) => {
    const allowed = realpathSync(temporaryFolder(t));
    const { path, write, git } = plainFolder(t, allowed);
    write('src/a.txt', 'mine');
    git('init', '--quiet', '.');
    const env = { PARLEY_LOCAL_FOLDERS: allowed, PARLEY_SANDBOX: 'bubblewrap' };
    const { client, id, notices } = await openIn(t, join(path, 'src'), env);
    await client.prompt(id, 'edit src/a.txt theirs');
    assert.equal(readFileSync(join(path, 'src/a.txt'), 'utf8'), 'theirs');
    assert.match(notices().join('\n'), /works in your local folder itself/);
    const located = client
      .updates(id)
      .flatMap((update) => (update.sessionUpdate === 'tool_call' ? (update.locations ?? []) : []));
    assert.deepEqual(located, [{ path: join(path, 'src/a.txt') }]);
    assert.doesNotMatch(notices().join('\n'), /copy/);
  });
});

for (const kind of databaseKinds)
  describe(`a session of parley acp on ${kind}`, { timeout: 300_000 }, () => {
    async function start(t: TestContext) {
      const storage = await createStorage(kind, { migrated: false });
      const site = createEditorSite(t, { databaseUrl: storage.databaseUrl });
      // The database can be removed when the service has ended.
      t.after(() => storage.remove());
      const editor = site.open();
      // So that notices are not part of the text.
      const client = await editor.connect({ capabilities: { session: { notices: {} } } });
      const runs = await site.useFakeAgent();
      return { site, editor, client, runs, id: await client.newSession() };
    }

    it('goes on when the service is killed in the middle of a turn', async (t) => {
      const { site, editor, client, id, runs } = await start(t);
      const before = serviceOf(site.dataDir);
      const turn = client.prompt(id, 'say One\nreally-run echo output\nchunks Two|@never');
      const isRun = (update: SessionUpdate) =>
        update.sessionUpdate === 'tool_call_update' && update.status === 'completed';
      await until(
        'it is in the middle',
        () => client.text(id) === 'OneTwo' && client.updates(id).some(isRun),
      );
      await site.endService('SIGKILL');
      assert.equal(await turn, 'end_turn');
      assert.notEqual(serviceOf(site.dataDir)?.pid, before?.pid, 'the prompt started the service again');
      const said = (await runs.events(id))
        .filter(({ source, action }) => source === 'agent' && action === 'message')
        .map(({ args }) => String(args?.['content']));
      assert.match(said.at(-1) ?? '', /You were interrupted/);
      // What was being written is lost with the service, but the client has seen it.
      assert.equal(client.text(id), `OneTwo${said.slice(1).join('')}`);
      assert.equal(said[0], 'One');
      assert.equal(await client.prompt(id, 'say Last'), 'end_turn');
      assert.match(client.text(id), /[^t]Last$/);
      assertOnlyJsonRpc(editor.lines());
    });

    it('goes on when the service is started again on another port', async (t) => {
      const { site, client, id } = await start(t);
      assert.equal(await client.prompt(id, 'say One'), 'end_turn');
      const before = serviceOf(site.dataDir);
      await site.endService('SIGTERM');
      assert.equal(await client.prompt(id, 'say Two'), 'end_turn');
      assert.notEqual(serviceOf(site.dataDir)?.url, before?.url);
      assert.equal(client.text(id), 'OneTwo');
      await site.endService('SIGTERM');
      const other = await site.open().connect();
      await other.context.request(session.load, { sessionId: id, cwd: '/', mcpServers: [] });
      assert.equal(other.text(id), 'OneTwo');
      assert.equal(await client.prompt(id, 'say Three'), 'end_turn');
      assert.equal(client.text(id), 'OneTwoThree');
    });
  });

describe('parley acp with PARLEY_URL', { timeout: 240_000 }, () => {
  it('uses that service with PARLEY_KEY', async (t) => {
    const { site, serve } = await createWorkerSite('sqlite', t, mainFile);
    const service = await serve();
    await service.set({ agent: 'fake' });
    const env = { PARLEY_URL: service.url, PARLEY_KEY: service.key, PARLEY_DATA_DIR: site.createDir() };
    const client = await startEditor({ PATH: process.env['PATH'] ?? '', ...env }, t).connect();
    const id = await client.newSession();
    assert.equal(await client.prompt(id, 'say Hello'), 'end_turn');
    assert.equal(client.text(id), 'Hello');
  });

  it('says what to do if there is no API key, or a wrong one', async (t) => {
    const site = await createSite('sqlite', t);
    const service = await site.serve();
    const env = { PATH: process.env['PATH'] ?? '', HOME: site.createDir() };
    const keyless = startEditor({ ...env, PARLEY_URL: 'https://parley.example.com' }, t);
    const client = await keyless.connect();
    for (let i = 0; i < 2; i++)
      await assert.rejects(client.newSession(), { code: authRequired, message: /PARLEY_KEY.*parley login/ });
    assertOnlyJsonRpc(keyless.lines());
    const wrong = startEditor({ ...env, PARLEY_URL: service.url, PARLEY_KEY: 'wrong' }, t);
    await assert.rejects((await wrong.connect()).newSession(), { code: authRequired });
    const broken = startEditor({ ...env, PARLEY_URL: 'nowhere', PARLEY_KEY: 'k' }, t);
    await assert.rejects((await broken.connect()).newSession(), /PARLEY_URL must be an http or https URL/);
  });
});
