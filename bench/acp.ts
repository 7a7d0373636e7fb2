// Measures what ACP adds: the time from a prompt to the agent and from the model to the client, against the plain API in
// the same conversation, and what 100 sessions cost.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ndJsonStream, type Stream } from '@agentclientprotocol/sdk';
import { WebSocket } from 'ws';
import { socketStream } from '../src/acp/socketStream.ts';
import { createParley, type Parley } from '../src/client/parley.ts';
import { connectAcp } from '../test/support/acpClient.ts';
import { createStorage } from '../test/support/databases.ts';
import { fakeAgentPath, writeAgents } from '../test/support/runs.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { cpuUs, residentBytes, sharedMs } from './processes.ts';
import { atMost, decimals, megabytes, type PartReport, whole } from './report.ts';
import { sessionKey } from './requests.ts';
import { type Service, startService } from './service.ts';
import { startStampedModel } from './stampedModel.ts';
import { median, percentile } from './statistics.ts';

const addedTargetMs = 20;
const firstTextTargetMs = 100;
/** As many as a connection may have. */
const sessions = 100;
const rounds = 5;
const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** How a prompt gets to the service. */
const ways = ['plain API', 'parley acp', 'WebSocket'] as const;
type Way = (typeof ways)[number];

interface Turn {
  /** From the prompt of the client to the first text that the agent or the model writes. */
  readonly toAgentMs: number;
  /** From there to the client. */
  readonly toClientMs: number;
}

/** Notes when the first text of a turn arrives, and when the agent or the model has written it. */
function createStopwatch() {
  let [sentAt, writtenAt, arrivedAt] = [0, Number.NaN, 0];
  return {
    start: () => {
      [sentAt, writtenAt] = [sharedMs(), Number.NaN];
    },
    see: (text: string) => {
      const [, stamp] = /<(\d+\.\d+)>/.exec(text) ?? [];
      if (stamp === undefined || !Number.isNaN(writtenAt)) return;
      [writtenAt, arrivedAt] = [Number(stamp), sharedMs()];
    },
    read: (): Turn => ({ toAgentMs: writtenAt - sentAt, toClientMs: arrivedAt - writtenAt }),
  };
}
type Stopwatch = ReturnType<typeof createStopwatch>;

type TakeTurn = (prompt: string) => Promise<Turn>;

/** A reader of the stream that sends messages with the plain API. */
async function openPlain(parley: Parley, lifetime: Lifetime): Promise<TakeTurn> {
  const { conversation_id: id } = await parley.conversations.create({});
  const watch = createStopwatch();
  const leaving = new AbortController();
  lifetime.atEnd(async () => leaving.abort());
  let turnEnd = Promise.withResolvers<void>();
  void (async () => {
    for await (const item of parley.events(id, { partials: true, signal: leaving.signal })) {
      if (item.type === 'partial') watch.see(item.text);
      if (item.type === 'action.message' && item.source === 'agent') watch.see(item.args.content);
      if (
        item.type === 'observation.agent_state_changed' &&
        item.extras.agent_state === 'awaiting_user_input' &&
        !Number.isNaN(watch.read().toAgentMs)
      )
        turnEnd.resolve();
    }
  })();
  return async (prompt) => {
    turnEnd = Promise.withResolvers();
    watch.start();
    await parley.conversations.message(id, prompt);
    await turnEnd.promise;
    return watch.read();
  };
}

/** Shows the text of each update to the stopwatch before the client handles it. */
function watched(stream: Stream, watch: Stopwatch): Stream {
  const observer = new TransformStream({
    transform: (message, controller) => {
      if (message.params?.update?.sessionUpdate === 'agent_message_chunk')
        watch.see(message.params.update.content.text);
      controller.enqueue(message);
    },
  });
  return { readable: stream.readable.pipeThrough(observer), writable: stream.writable };
}

async function openAcp(stream: Stream): Promise<TakeTurn> {
  const watch = createStopwatch();
  const client = await connectAcp(watched(stream, watch));
  const id = await client.newSession();
  return async (prompt) => {
    watch.start();
    await client.prompt(id, prompt);
    return watch.read();
  };
}

function startPipe(
  { url }: Service,
  lifetime: Lifetime,
): { readonly process: ChildProcess; readonly stream: Stream } {
  const env = { PATH: process.env['PATH'], PARLEY_URL: url, PARLEY_KEY: sessionKey };
  const child = spawn(process.execPath, [main, 'acp'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  lifetime.atEnd(async () => void child.kill('SIGKILL'));
  const stream = ndJsonStream(
    Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>,
  );
  return { process: child, stream };
}

async function openSocket({ url }: Service): Promise<Stream> {
  const headers = { 'X-Session-API-Key': sessionKey };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/acp`, { headers });
  await once(socket, 'open');
  return socketStream(socket);
}

/** The ways take turns, so that a disturbance meets all of them. */
async function measureTurns(service: Service, lifetime: Lifetime, prompt: string, count: number) {
  const takers: Readonly<Record<Way, TakeTurn>> = {
    'plain API': await openPlain(createParley({ url: service.url, key: sessionKey }), lifetime),
    'parley acp': await openAcp(startPipe(service, lifetime).stream),
    WebSocket: await openAcp(await openSocket(service)),
  };
  const measured: Record<Way, Turn[]> = { 'plain API': [], 'parley acp': [], WebSocket: [] };
  // The first turn waits for the agent to start.
  for (const way of ways) await takers[way](prompt);
  for (let i = 0; i < count; i++) for (const way of ways) measured[way].push(await takers[way](prompt));
  return measured;
}

interface Crowd {
  readonly serviceBytes: number;
  readonly pipeBytes: number;
  readonly turnsPerSecond: number;
  /** CPU time of a turn. */
  readonly serviceMs: number;
  readonly pipeMs: number;
}

/** All sessions of one `parley acp` have a turn at the same time, a few times. */
async function measureCrowd(service: Service, lifetime: Lifetime): Promise<Crowd> {
  const { process: child, stream } = startPipe(service, lifetime);
  const pid = child.pid ?? 0;
  const client = await connectAcp(stream);
  const before = { service: residentBytes(service.pid), pipe: residentBytes(pid) };
  const ids: string[] = [];
  while (ids.length < sessions) ids.push(await client.newSession());
  const round = () => Promise.all(ids.map((id) => client.prompt(id, 'say Hello there')));
  // Agents start during the first turns.
  await round();
  const [serviceUs, pipeUs, since] = [cpuUs(service.pid), cpuUs(pid), performance.now()];
  for (let i = 0; i < rounds; i++) await round();
  const turns = rounds * sessions;
  const seconds = (performance.now() - since) / 1_000;
  const crowd = {
    serviceBytes: residentBytes(service.pid) - before.service,
    pipeBytes: residentBytes(pid) - before.pipe,
    turnsPerSecond: turns / seconds,
    serviceMs: (cpuUs(service.pid) - serviceUs) / 1_000 / turns,
    pipeMs: (cpuUs(pid) - pipeUs) / 1_000 / turns,
  };
  client.close();
  child.kill();
  return crowd;
}

export async function measureAcp(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const model = await startStampedModel(() => ({ pieces: 1, everyMs: 0 }));
  const storage = await createStorage('sqlite');
  writeAgents(storage.dataDir);
  const service = await startService(lifetime, storage, {
    PATH: `${fakeAgentPath()}:${process.env['PATH']}`,
    PARLEY_ROLE: 'all',
    PARLEY_SANDBOX: 'process',
    PARLEY_SLOTS: String(sessions + 10),
  });
  const { settings } = createParley({ url: service.url, key: sessionKey });
  const use = (agent: string) =>
    settings.update({
      agent,
      llm_model: 'openai/gpt-4o',
      llm_api_key: 'bench-key-0123456789',
      llm_base_url: `${model.url}/v1`,
    });
  const count = plan.partials.messages;
  process.stderr.write('acp: prompts to the scripted agent …\n');
  await use('fake');
  const scripted = await measureTurns(service, lifetime, 'stamps 1 0', count);
  process.stderr.write('acp: text of the model …\n');
  await use('builtin');
  const builtin = await measureTurns(service, lifetime, 'Go on.', count);
  process.stderr.write(`acp: ${sessions} sessions …\n`);
  await use('fake');
  const crowd = await measureCrowd(service, lifetime);
  await service.stop();
  model.close();
  await storage.remove();
  return report(scripted, builtin, crowd);
}

function report(scripted: Record<Way, Turn[]>, builtin: Record<Way, Turn[]>, crowd: Crowd): PartReport {
  const one = decimals(1);
  const ms = (value: number) => `${one(value)} ms`;
  const toAgent = (way: Way) => scripted[way].map(({ toAgentMs }) => toAgentMs);
  const toClient = (way: Way) => builtin[way].map(({ toClientMs }) => toClientMs);
  const p99 = (values: readonly number[]) =>
    percentile(
      values.toSorted((a, b) => a - b),
      0.99,
    );
  const added = (way: Way) => median(toAgent(way)) - median(toAgent('plain API'));
  return {
    tables: [
      {
        title: 'ACP clients, SQLite',
        heads: ['client', 'prompt to agent p50 ms', 'p99 ms', 'model to client p50 ms', 'p99 ms'],
        rows: ways.map((way) => [
          way,
          one(median(toAgent(way))),
          one(p99(toAgent(way))),
          one(median(toClient(way))),
          one(p99(toClient(way))),
        ]),
        note: 'From the prompt at the client until the scripted agent has it, and from the moment when the model has written its first text until the client has it. The ways take turns.',
      },
      {
        title: `${sessions} sessions of one client through one service, SQLite`,
        heads: ['process', 'memory of all sessions', 'CPU ms a turn', 'turns a second'],
        rows: [
          ['service', megabytes(crowd.serviceBytes), one(crowd.serviceMs), whole(crowd.turnsPerSecond)],
          ['parley acp', megabytes(crowd.pipeBytes), one(crowd.pipeMs), ''],
        ],
        note: 'All sessions have a turn at the same time. Ten conversations of a user run at once, the default of PARLEY_RUNNING_MAX, so that most turns start their scripted agent again.',
      },
    ],
    figures: [
      atMost('Added from a prompt of parley acp to the agent, p50', added('parley acp'), addedTargetMs, ms),
      atMost('Added from a prompt over WebSocket to the agent, p50', added('WebSocket'), addedTargetMs, ms),
      atMost(
        'First text at parley acp after the model has written it, p50',
        median(toClient('parley acp')),
        firstTextTargetMs,
        ms,
      ),
      atMost(
        'First text over WebSocket after the model has written it, p50',
        median(toClient('WebSocket')),
        firstTextTargetMs,
        ms,
      ),
      atMost(
        'First text at parley acp after the model has written it, p99',
        p99(toClient('parley acp')),
        firstTextTargetMs,
        ms,
      ),
      atMost(
        'First text over WebSocket after the model has written it, p99',
        p99(toClient('WebSocket')),
        firstTextTargetMs,
        ms,
      ),
    ],
  };
}
