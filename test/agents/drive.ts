// One conversation of two messages with a real agent: what it is told to do, and all that was seen of it from outside.
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Step } from '../../src/agents/trial/scriptedModel/script.ts';
import {
  createScriptedModel,
  type Exchange,
  listenScriptedModel,
} from '../../src/agents/trial/scriptedModel/server.ts';
import type { Protocol } from '../../src/models/protocols.ts';
import { createStorage } from '../support/databases.ts';
import { type McpMessage, startMcpServer } from '../support/mcpServer.ts';
import { createRunsClient, filesOf, type TestEvent } from '../support/runs.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { stdioServer, stdioTool } from './stdioServer.ts';

/** With its start, which takes the largest of them ten seconds on a slow machine. */
const turnMs = 180_000;

/** Of the user's model, and of the two tool servers. */
export const keys = {
  model: 'sk-key-of-the-model-4711',
  http: 'key-of-the-http-server-4712',
  stdio: 'key-of-the-stdio-server-4713',
};

/** Names that the providers of these protocols have. The scripted model answers to any. */
const models: Readonly<Record<Protocol, string>> = {
  'openai-chat': 'openai/gpt-4.1',
  'openai-responses': 'openai/gpt-5-codex',
  anthropic: 'anthropic/claude-sonnet-4-5',
  gemini: 'gemini/gemini-2.5-pro',
};

export const httpTool = 'look_up';
export const toolInput = { word: 'parley' };
export const written = 'hello';
/** What the command prints stands nowhere in the command. */
const command = 'cat hello.txt && expr 4000 + 242';
export const printed = '4242';
export const answers = { first: 'All of it is done.', second: 'That is copied as well.' };
/** Sent after the conversation was stopped: the agent has to resume its session. */
export const lastMessage = 'Tell me once more.';

/** The MCP servers that agents do not take from their client: pi none, Copilot only those over HTTP. */
export const refusedServers: Readonly<Record<string, readonly string[]>> = {
  pi: ['MCP over HTTP', 'MCP over stdio'],
  copilot: ['MCP over stdio'],
};

/** Qwen Code tells its model of no tool of a server: it has to look for them, and calls them through another tool. */
function searchingCalls(): Step[] {
  const names = [`mcp__127_0_0_1__${httpTool}`, `mcp__words__${stdioTool}`];
  return [
    { call: { tool: 'tool_search', input: { query: `select:${names.join()}` } } },
    ...names.map((name) => ({ call: { tool: 'tool_call', input: { name, arguments: toolInput } } })),
  ];
}

function scriptFor(agent: string): Step[] {
  const tools = { 'MCP over HTTP': httpTool, 'MCP over stdio': stdioTool };
  const calls = Object.entries(tools)
    .filter(([column]) => !refusedServers[agent]?.includes(column))
    .map(([, tool]) => ({ call: { tool, input: toolInput } }));
  return [
    { write: { path: '/workspace/hello.txt', text: written } },
    { run: command },
    ...(agent === 'qwen' ? searchingCalls() : calls),
    { say: answers.first },
    { run: 'cp hello.txt again.txt' },
    { say: answers.second },
    { say: 'I remember.' },
  ];
}

export interface Seen {
  readonly events: readonly TestEvent[];
  /** Of the workspace, where they are there. */
  readonly files: Readonly<Record<'hello.txt' | 'again.txt', string | undefined>>;
  /** What the tool server over HTTP was sent, with its key: without, it takes nothing. */
  readonly toolMessages: readonly McpMessage[];
  readonly exchanges: readonly Exchange[];
  /** With which the model was asked. */
  readonly modelKeys: readonly (string | undefined)[];
  /** As it was counted for the user. */
  readonly requests: number;
  /** The log of the service, and all files of the conversation. */
  readonly elsewhere: string;
  /** Why the conversation did not come to the end of its second turn. */
  readonly fault: string | undefined;
}

function keyOf({ headers }: IncomingMessage): string | undefined {
  const given = headers['x-api-key'] ?? headers['x-goog-api-key'] ?? headers.authorization;
  return String(given).replace(/^Bearer /, '');
}

async function listenModel(t: TestContext, script: readonly Step[]) {
  const { exchanges, handle } = createScriptedModel(script);
  const modelKeys: (string | undefined)[] = [];
  const { origin, close } = await listenScriptedModel({
    exchanges,
    handle: (request, ...rest) => {
      modelKeys.push(keyOf(request));
      handle(request, ...rest);
    },
  });
  t.after(close);
  return { origin, exchanges, modelKeys };
}

interface Driven {
  readonly agent: string;
  readonly protocol: Protocol;
  /** Where agents are installed. */
  readonly agentsDir: string;
}

async function startScene(t: TestContext, { agent, protocol, agentsDir }: Driven) {
  const model = await listenModel(t, scriptFor(agent));
  const hosts = ['openai', 'anthropic', 'gemini'].map((provider) => `${provider}=${model.origin}`);
  const http = await startMcpServer(t, { form: 'json', key: keys.http, tools: [httpTool] });
  const env = {
    PARLEY_ROLE: 'all',
    PARLEY_SANDBOX: 'bubblewrap',
    PARLEY_MODEL_HOSTS: hosts.join(),
    PARLEY_ALLOW_PRIVATE_ADDRESSES: '1',
  };
  const storage = await createStorage('sqlite');
  t.after(storage.remove);
  symlinkSync(agentsDir, join(storage.dataDir, 'agents'));
  const service = await startService({ env, storage });
  t.after(service.stop);
  const mcp_config = {
    shttp_servers: [{ url: http.url, api_key: keys.http }],
    stdio_servers: [stdioServer(keys.stdio)],
  };
  const settings = { agent, llm_model: models[protocol], llm_api_key: keys.model, mcp_config };
  const { status, text } = await service.ask('/api/settings', { json: settings });
  if (status !== 200) throw new Error(text);
  return { model, http, service };
}

/** Rejects where it stops instead. */
async function turnEnds(runs: ReturnType<typeof createRunsClient>, id: string, turn: number): Promise<void> {
  const stateOf = ({ extras }: TestEvent) => extras?.['agent_state'];
  let wasLive = false;
  await until(
    `turn ${turn} has ended`,
    async () => {
      const { status, stop_reason: reason } = await runs.info(id);
      wasLive ||= status !== 'STOPPED';
      if (status === 'STOPPED' && wasLive) throw new Error(`it stopped: ${reason?.message}`);
      const states = (await runs.events(id)).map(stateOf).filter((state) => state !== undefined);
      const begun = states.filter((state) => state === 'running').length;
      return begun >= turn && states.at(-1) === 'awaiting_user_input';
    },
    turnMs,
  );
}

async function readWorkspace({ ask }: TestService, id: string, file: string): Promise<string | undefined> {
  const { body } = await ask(`/api/conversations/${id}/select-file?file=${file}`);
  return body?.code;
}

async function countRequests({ ask }: TestService, id: string): Promise<number> {
  return (await ask(`/api/conversations/${id}/usage`)).body.requests;
}

/** Texts of all files below, one after another. Links are not followed. */
function readTree(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
    .join('\n');
}

/** Whatever becomes of the conversation, all that was seen of it. */
export async function drive(t: TestContext, driven: Driven): Promise<Seen> {
  const { model, http, service } = await startScene(t, driven);
  const runs = createRunsClient(service.ask);
  const id = await runs.create('Follow the script.');
  let fault: string | undefined;
  try {
    await turnEnds(runs, id, 1);
    await runs.say(id, 'Go on.');
    await turnEnds(runs, id, 2);
    await runs.stop(id);
    await until('it has stopped', async () => (await runs.info(id)).status === 'STOPPED');
    await runs.say(id, lastMessage);
    await turnEnds(runs, id, 3);
    await runs.stop(id);
    await until('it has stopped again', async () => (await runs.info(id)).status === 'STOPPED');
    await until('all is counted', async () => (await countRequests(service, id)) === model.exchanges.length);
  } catch (error) {
    fault = (error as Error).message;
  }
  const { root } = await filesOf(service.storage, id);
  return {
    events: await runs.events(id),
    files: {
      'hello.txt': await readWorkspace(service, id, 'hello.txt'),
      'again.txt': await readWorkspace(service, id, 'again.txt'),
    },
    toolMessages: http.messages,
    exchanges: model.exchanges,
    modelKeys: model.modelKeys,
    requests: await countRequests(service, id),
    elsewhere: `${service.logs()}${readTree(root)}`,
    fault,
  };
}
