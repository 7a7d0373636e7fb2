// ACP clients work with conversations: the same log, whoever reads and writes it.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { methods, type SessionUpdate } from '@agentclientprotocol/sdk';
import { type AcpClientOptions, choose, connectAcp } from '../../test/support/acpClient.ts';
import { createStorage, databaseKinds } from '../../test/support/databases.ts';
import { letAgentGo } from '../../test/support/partials.ts';
import { type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { until } from '../../test/support/until.ts';
import { createParley } from '../client/parley.ts';
import { createAcpApp } from './app.ts';
import type { ClientFolders, Folder } from './clientFolders.ts';

const { session } = methods.agent;

async function start(t: TestContext, options: RunsOptions = {}) {
  const storage = await createStorage(options.kind ?? 'sqlite');
  const runs = await startRuns({ ...options, storage }, t);
  t.after(() => storage.remove());
  const { url, key } = runs.service;
  const parley = createParley({ url, key });
  return {
    ...runs,
    parley,
    /** Uses a new key with these scopes. */
    parleyWith: async (...scopes: string[]) => {
      const { body } = await runs.service.ask('/api/keys', { json: { name: 'editor', scopes } });
      return createParley({ url, key: body.key });
    },
    letGo: (id: string, name: string) => letAgentGo(storage, id, name),
    connect: async (clientOptions?: AcpClientOptions, folders?: ClientFolders, own = parley) => {
      const { app, close } = createAcpApp({ parley: own, version: '0.0.0', ...(folders && { folders }) });
      t.after(async () => close());
      return connectAcp(app, clientOptions);
    },
  };
}

for (const kind of databaseKinds)
  describe(`an ACP session on ${kind}`, () => {
    it('is a conversation, whose turns answer the prompts', async (t) => {
      const { connect, events, info } = await start(t, { kind });
      const client = await connect();
      const id = await client.newSession();
      assert.equal(await client.prompt(id, 'say Hello there'), 'end_turn');
      assert.equal(client.text(id), 'Hello there');
      assert.equal(client.text(id, 'user_message_chunk'), '', 'the client has its own prompt');
      assert.equal(await client.prompt(id, 'say Again'), 'end_turn');
      assert.equal(client.text(id), 'Hello thereAgain');
      assert.equal((await info(id)).agent_state, 'awaiting_user_input');
      const said = (await events(id))
        .filter(({ action }) => action === 'message')
        .map(({ message }) => message);
      assert.deepEqual(said, ['say Hello there', 'Hello there', 'say Again', 'Again']);
    });
  });

describe('an ACP session', () => {
  it('shows text while it is written, and none of it twice', async (t) => {
    const { connect, letGo } = await start(t);
    const client = await connect();
    const id = await client.newSession();
    const turn = client.prompt(id, 'chunks one\\n|two|@more| three\\n|four|@end');
    await until('the beginning is there', () => client.text(id) === 'one\ntwo');
    const late = await connect();
    await late.context.request(session.load, { sessionId: id, cwd: '/', mcpServers: [] });
    await until('a client that joins has it, too', () => late.text(id) === 'one\ntwo');
    await letGo(id, 'more');
    await letGo(id, 'end');
    assert.equal(await turn, 'end_turn');
    assert.equal(client.text(id), 'one\ntwo three\nfour');
    await until('so has the other', () => late.text(id) === 'one\ntwo three\nfour');
  });

  it('is loaded with its whole log, and resumed with nothing of it', async (t) => {
    const { connect, say, turns } = await start(t);
    const client = await connect();
    const id = await client.newSession();
    await client.prompt(id, 'say First');
    client.close();
    await say(id, 'say Second');
    await turns(id, 2);

    const loaded = await connect();
    await loaded.context.request(session.load, { sessionId: id, cwd: '/', mcpServers: [] });
    assert.equal(loaded.text(id, 'user_message_chunk'), 'say Firstsay Second');
    assert.equal(loaded.text(id), 'FirstSecond');
    const resumed = await connect();
    await resumed.context.request(session.resume, { sessionId: id, cwd: '/' });
    assert.equal(resumed.text(id), '');
    assert.equal(await resumed.prompt(id, 'say Third'), 'end_turn');
    assert.equal(resumed.text(id), 'Third');
    await until('the other client sees the turn', () => loaded.text(id) === 'FirstSecondThird');
    assert.equal(loaded.text(id, 'user_message_chunk'), 'say Firstsay Secondsay Third');
  });

  it('shows text after the calls that came before it', async (t) => {
    const { connect } = await start(t);
    const client = await connect();
    const id = await client.newSession();
    for (let turn = 0; turn < 5; turn++) {
      const before = client.updates(id).length;
      await client.prompt(id, 'run echo one\nchunks two| three\nrun echo four\nchunks five');
      const order = client
        .updates(id)
        .slice(before)
        .map((update) => {
          if (update.sessionUpdate === 'tool_call') return 'call';
          if (update.sessionUpdate === 'tool_call_update' && update.status === 'completed') return 'end';
          return update.sessionUpdate === 'agent_message_chunk' ? 'text' : '';
        })
        .filter((word, i, all) => word !== '' && word !== all[i - 1]);
      assert.deepEqual(order, ['call', 'end', 'text', 'call', 'end', 'text'], `turn ${turn}`);
    }
  });

  it('shows tool calls with their command and output', async (t) => {
    const { connect } = await start(t);
    const client = await connect();
    const id = await client.newSession();
    await client.prompt(id, 'really-run echo from the sandbox');
    const calls = client.updates(id).filter(({ sessionUpdate }) => sessionUpdate.startsWith('tool_call'));
    const [begun] = calls;
    assert.ok(begun?.sessionUpdate === 'tool_call');
    assert.deepEqual(
      [begun.title, begun.kind, begun.status],
      ['echo from the sandbox', 'execute', 'in_progress'],
    );
    const ended = calls.at(-1);
    assert.ok(ended?.sessionUpdate === 'tool_call_update');
    assert.deepEqual([ended.toolCallId, ended.status], [begun.toolCallId, 'completed']);
    assert.match(JSON.stringify(ended.content), /from the sandbox/);
  });

  it('has the commands that its agent announces, also when it is resumed', async (t) => {
    const { connect } = await start(t);
    const client = await connect();
    const id = await client.newSession();
    await client.prompt(id, 'commands plan;review');
    const announced = {
      sessionUpdate: 'available_commands_update',
      availableCommands: ['plan', 'review'].map((name) => ({
        name,
        description: `Does ${name}`,
        input: { hint: 'what' },
      })),
    };
    const isCommands = ({ sessionUpdate }: SessionUpdate) => sessionUpdate === 'available_commands_update';
    assert.deepEqual(client.updates(id).filter(isCommands), [announced]);
    const resumed = await connect();
    await resumed.context.request(session.resume, { sessionId: id, cwd: '/' });
    await until('it has them, too', () => resumed.updates(id).some(isCommands));
    assert.deepEqual(resumed.updates(id).filter(isCommands), [announced]);
  });

  it('shows the output of commands in terminals of clients that have them', async (t) => {
    const { connect } = await start(t);
    const client = await connect({ capabilities: { _meta: { terminal_output: true } } });
    const id = await client.newSession();
    await client.prompt(id, 'really-run echo from the sandbox');
    const metas = client.updates(id).flatMap(({ _meta }) => (_meta == null ? [] : [_meta]));
    const [, output] = metas.map(({ terminal_output: data }) => data as { data: string } | undefined);
    assert.deepEqual(
      metas.flatMap((meta) => Object.keys(meta)),
      ['terminal_info', 'terminal_output', 'terminal_exit'],
    );
    assert.equal(output?.data, 'from the sandbox\n');
  });

  it('asks the client for approval', async (t) => {
    const { connect, parley } = await start(t, { settings: { confirmation_mode: true } });
    const answers = ['reject', 'allow'];
    const client = await connect({ decide: () => choose(answers.shift() ?? '') });
    const id = await client.newSession();
    assert.equal(await client.prompt(id, 'ask-run echo one'), 'end_turn');
    assert.equal(await client.prompt(id, 'ask-run echo two'), 'end_turn');
    assert.deepEqual(
      client.permissions.map(({ toolCall }) => toolCall.title),
      ['echo one', 'echo two'],
    );
    const { trajectory } = await parley.conversations.trajectory(id);
    const ran = trajectory.filter(
      ({ type }) => type === 'observation.run' || type === 'observation.user_rejected',
    );
    assert.deepEqual(
      ran.map(({ type }) => type),
      ['observation.user_rejected', 'observation.run'],
    );
  });

  it('takes the approval request back when somebody else answers it', async (t) => {
    const { connect, parley } = await start(t, { settings: { confirmation_mode: true } });
    const client = await connect({
      decide: (_, signal) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve({ outcome: { outcome: 'cancelled' } })),
        ),
    });
    const id = await client.newSession();
    const turn = client.prompt(id, 'ask-run echo one');
    await until('the client is asked', () => client.permissions.length === 1);
    await parley.conversations.confirm(id, { decision: 'allow' });
    assert.equal(await turn, 'end_turn');
    assert.deepEqual(client.withdrawn, [client.permissions[0]?.toolCall.toolCallId]);
  });

  it('ends its turn when it is cancelled, and goes on with the next prompt', async (t) => {
    const { connect, info } = await start(t);
    const client = await connect();
    const id = await client.newSession();
    const turn = client.prompt(id, 'chunks begun|@never');
    await until('the turn has begun', () => client.text(id) === 'begun');
    await client.context.notify(session.cancel, { sessionId: id });
    assert.equal(await turn, 'cancelled');
    assert.equal((await info(id)).status, 'RUNNING');
    assert.equal(client.text(id), 'begun');
    assert.equal(await client.prompt(id, 'say Next'), 'end_turn');
    assert.match(client.text(id), /Next$/);
  });

  it('ends its turn when somebody else cancels it, or while it waits for approval', async (t) => {
    const { connect, parley } = await start(t, { settings: { confirmation_mode: true } });
    const client = await connect({
      decide: (_, signal) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve({ outcome: { outcome: 'cancelled' } })),
        ),
    });
    const id = await client.newSession();
    const turn = client.prompt(id, 'ask-run echo one');
    await until('the client is asked', () => client.permissions.length === 1);
    await parley.conversations.cancel(id);
    assert.equal(await turn, 'cancelled');
    assert.equal(client.withdrawn.length, 1);
    assert.equal(await client.prompt(id, 'say Next'), 'end_turn');
  });

  it('answers a prompt with an error if the agent cannot work', async (t) => {
    const { connect } = await start(t, { settings: { agent: 'absent' } });
    const client = await connect();
    const id = await client.newSession();
    await assert.rejects(client.prompt(id, 'say Hello'), /absent.*not installed/);
  });

  it('is listed, changed, closed and deleted', async (t) => {
    const { connect, info, parley } = await start(t);
    const client = await connect();
    const id = await client.newSession();
    const { sessions } = await client.context.request(session.list, {});
    assert.deepEqual(
      sessions.map(({ sessionId }) => sessionId),
      [id],
    );
    const { configOptions } = await client.context.request(session.setConfigOption, {
      sessionId: id,
      configId: 'agent',
      value: 'other',
    });
    const chosen = configOptions.find((option) => option.id === 'agent');
    assert.equal(chosen?.currentValue, 'other');
    assert.equal((await parley.conversations.get(id)).agent, 'other');
    const asking = await client.context.request(session.setConfigOption, {
      sessionId: id,
      configId: 'mode',
      value: 'ask',
    });
    assert.equal(asking.configOptions.find((option) => option.id === 'mode')?.currentValue, 'ask');
    assert.equal((await parley.conversations.get(id)).confirmation_mode, true);
    await client.context.request(session.close, { sessionId: id });
    assert.equal((await info(id)).status, 'STOPPED');
    await client.context.request(session.delete, { sessionId: id });
    await assert.rejects(parley.conversations.get(id), { code: 'not_found' });
  });

  it('is found by the working directory of its client', async (t) => {
    const { connect } = await start(t);
    const client = await connect();
    const ids: string[] = [];
    for (const cwd of ['/home/me/one', '/home/me/two']) {
      const { sessionId } = await client.context.request(session.new, { cwd, mcpServers: [] });
      ids.push(sessionId);
    }
    const list = async (cwd?: string) => {
      const { sessions } = await client.context.request(session.list, cwd === undefined ? {} : { cwd });
      return sessions.map((info) => [info.sessionId, info.cwd]);
    };
    assert.deepEqual(await list(), [
      [ids[1], '/home/me/two'],
      [ids[0], '/home/me/one'],
    ]);
    assert.deepEqual(await list('/home/me/one'), [[ids[0], '/home/me/one']]);
    assert.deepEqual(await list('/home/me'), []);
  });

  it('starts in another way if the service does not accept the folder, and links files in it', async (t) => {
    const { connect, events } = await start(t);
    const root = '/home/me/project';
    const reasons: string[] = [];
    const copy: Folder = { creation: { client_folder: root }, notes: (id) => [`A copy for ${id}.`] };
    const folders: ClientFolders = {
      findRoot: async () => root,
      open: async () => ({
        creation: { local_folder: root },
        otherwise: async () => ({
          creation: { repository: 'https://git.example.com/a/b', workspace_patch: { patch: '' } },
          otherwise: async (reason) => {
            reasons.push(reason);
            return copy;
          },
        }),
      }),
    };
    const client = await connect({ capabilities: { session: { notices: {} } } }, folders);
    const cwd = `${root}/src`;
    const { sessionId } = await client.context.request(session.new, { cwd, mcpServers: [] });
    const uri = `file://${root}/src/a%20b.ts#L3`;
    const link = { type: 'resource_link' as const, name: 'a b.ts', uri };
    await client.context.request(session.prompt, { sessionId, prompt: [link] });
    const notices = client
      .updates(sessionId)
      .flatMap((update) => (update.sessionUpdate === 'notice' ? [update.title] : []));
    assert.equal(notices[0], `A copy for ${sessionId}.`);
    assert.deepEqual(reasons, [
      'The URL of the repository is not one of the git providers in your settings.',
    ]);
    const [message] = (await events(sessionId)).filter(({ action }) => action === 'message');
    assert.equal(message?.message, '[@a b.ts](src/a%20b.ts#L3)');
  });

  it('needs only the scopes of conversations', async (t) => {
    const { connect, parleyWith } = await start(t);
    const key = await parleyWith('conversations:read', 'conversations:write');
    const client = await connect({}, undefined, key);
    const id = await client.newSession();
    assert.equal(await client.prompt(id, 'say Hello'), 'end_turn');
    const reader = await connect({}, undefined, await parleyWith('conversations:read'));
    await reader.context.request(session.load, { sessionId: id, cwd: '/', mcpServers: [] });
    assert.equal(reader.text(id), 'Hello');
    await assert.rejects(reader.prompt(id, 'say Again'), /conversations:write/);
  });

  it('shows control and hidden characters of agents', async (t) => {
    const { connect } = await start(t, { settings: { confirmation_mode: true } });
    const client = await connect();
    const id = await client.newSession();
    await client.prompt(id, 'say A\u001b]52;c;QUJD\u0007\u202e\u001b[31mB');
    assert.equal(client.text(id), 'A␛]52;c;QUJD␇\\u{202e}B');
    await client.prompt(id, 'ask-run echo \u001b[2K\u200bdone');
    assert.equal(client.permissions[0]?.toolCall.title, 'echo ␛[2K\\u{200b}done');
  });

  it('offers its approval mode as a session mode, for clients without config options', async (t) => {
    const { connect, parley } = await start(t);
    const client = await connect();
    const { sessionId, modes } = await client.context.request(session.new, { cwd: '/', mcpServers: [] });
    assert.equal(modes?.currentModeId, 'auto');
    assert.deepEqual(
      modes?.availableModes.map(({ id }) => id),
      ['ask', 'auto'],
    );
    await client.context.request(session.setMode, { sessionId, modeId: 'ask' });
    assert.equal((await parley.conversations.get(sessionId)).confirmation_mode, true);
    await assert.rejects(
      client.context.request(session.setMode, { sessionId, modeId: 'other' }),
      /one of ask, auto/,
    );
  });

  it('tells the client about a new title once', async (t) => {
    const { connect, parley } = await start(t);
    const client = await connect();
    const id = await client.newSession();
    await client.prompt(id, 'say Hello');
    await parley.conversations.update(id, { title: 'Greetings' });
    await client.prompt(id, 'say Again');
    const titles = () =>
      client
        .updates(id)
        .flatMap((update) => (update.sessionUpdate === 'session_info_update' ? [update.title] : []));
    await until('the client has the title', () => titles().includes('Greetings'));
    assert.equal(titles().filter((title) => title === 'Greetings').length, 1);
    assert.equal(new Set(titles()).size, titles().length);
  });

  it('refuses unknown sessions, options and values, and audio, and says why', async (t) => {
    const { connect } = await start(t);
    const client = await connect();
    const id = await client.newSession();
    const load = (sessionId: string) =>
      client.context.request(session.load, { sessionId, cwd: '/', mcpServers: [] });
    await assert.rejects(load('nothing'), { code: -32_002 });
    await assert.rejects(client.prompt('nothing', 'x'), { code: -32_002 });
    const audio = [{ type: 'audio' as const, data: '', mimeType: 'audio/wav' }];
    await assert.rejects(client.context.request(session.prompt, { sessionId: id, prompt: audio }), /audio/);
    const change = (configId: string, value: string) =>
      client.context.request(session.setConfigOption, { sessionId: id, configId, value });
    await assert.rejects(change('agent', 'nobody'), /agent must be one of/);
    await assert.rejects(change('colour', 'red'), /configId|colour/);
  });
});
