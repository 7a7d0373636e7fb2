// Measures text that is shown while it is written: the time from the moment when an agent or a model has it until
// readers have it, and what 1,000 readers cost.
import { connect, type Socket } from 'node:net';
import { createStorage } from '../test/support/databases.ts';
import { fakeAgentPath, writeAgents } from '../test/support/runs.ts';
import { until } from '../test/support/until.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { cpuUs, sharedMs } from './processes.ts';
import { atMost, decimals, type PartReport, whole } from './report.ts';
import { followConversation, sendOnce, sessionKey, wireRequest } from './requests.ts';
import { type Service, startService } from './service.ts';
import { startStampedModel } from './stampedModel.ts';
import { median, percentile } from './statistics.ts';

const firstTextTargetMs = 100;
/** The time between pieces of a long message. */
const everyMs = 25;
const waitMs = 60_000;
const json = { 'X-Session-API-Key': sessionKey, 'Content-Type': 'application/json' };
const turnEnd = '"agent_state":"awaiting_user_input"';

type Source = 'scripted agent' | 'built-in agent, from the model';

async function post<Out>(url: string, path: string, body: unknown): Promise<Out> {
  const answer = await sendOnce(url, { method: 'POST', path, headers: json, body: JSON.stringify(body) });
  return JSON.parse(answer.body);
}

interface Reader {
  readonly socket: Socket;
  /** The delay of each piece of text, as it came in partials. */
  readonly delays: number[];
  frames(): number;
  turns(): number;
}

/** Counts what a stream with partials sends. */
function openReader(url: string, id: string): Reader {
  const follow = followConversation(id);
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', noDelay: true });
  socket.write(wireRequest({ ...follow, path: `${follow.path}?partials=true` }, url));
  const delays: number[] = [];
  let [held, frames, turns] = ['', 0, 0];
  socket.setEncoding('utf8').on('data', (text: string) => {
    const now = sharedMs();
    const parts = (held + text).split('\n\n');
    held = parts.pop() ?? '';
    for (const part of parts) {
      if (part.includes(turnEnd)) turns++;
      if (!part.includes('event: partial\n')) continue;
      frames++;
      for (const [, stamp] of part.matchAll(/<(\d+\.\d+)>/g)) delays.push(now - Number(stamp));
    }
  });
  return { socket, delays, frames: () => frames, turns: () => turns };
}

interface Measured {
  readonly source: Source;
  readonly readers: number;
  readonly firstMs: readonly number[];
  readonly delays: readonly number[];
  readonly framesPerSecond: number;
  /** The processor time of the service, with all threads, while the long message is written. */
  readonly cpuShare: number;
  readonly cpuUsPerFrame: number;
}

interface Site {
  readonly service: Service;
  readonly source: Source;
  /** Makes the agent write so many pieces, and returns the message that asks for it. */
  ask(pieces: number): string;
}

/** One turn: waits until every reader has seen its end. */
async function takeTurn({ service, ask }: Site, id: string, readers: readonly Reader[], pieces: number) {
  const before = readers.map(({ turns }) => turns());
  await post(service.url, `/api/conversations/${id}/message`, { message: ask(pieces) });
  const isOver = () => readers.every(({ turns }, i) => turns() > (before[i] ?? 0));
  await until('the turn is over', isOver, waitMs);
}

async function measureAudience(site: Site, plan: Plan, audience: number): Promise<Measured> {
  const { service, source, ask } = site;
  process.stderr.write(`partials: ${source}, ${whole(audience)} readers …\n`);
  const { conversation_id: id } = await post<{ conversation_id: string }>(service.url, '/api/conversations', {
    initial_user_msg: ask(1),
  });
  const readers = Array.from({ length: audience }, () => openReader(service.url, id));
  await until('all readers are there', () => readers.every(({ turns }) => turns() > 0), waitMs);
  const firstMs: number[] = [];
  for (let i = 0; audience === 1 && i < plan.partials.messages; i++) {
    for (const { delays } of readers) delays.length = 0;
    await takeTurn(site, id, readers, 1);
    firstMs.push(...readers.flatMap(({ delays }) => delays.slice(0, 1)));
  }
  for (const { delays } of readers) delays.length = 0;
  const framesBefore = readers.reduce((sum, { frames }) => sum + frames(), 0);
  const [cpuBefore, since] = [cpuUs(service.pid), performance.now()];
  await takeTurn(site, id, readers, plan.partials.pieces);
  const [cpu, ms] = [cpuUs(service.pid) - cpuBefore, performance.now() - since];
  const frames = readers.reduce((sum, one) => sum + one.frames(), 0) - framesBefore;
  for (const { socket } of readers) socket.destroy();
  return {
    source,
    readers: audience,
    firstMs,
    delays: readers.flatMap(({ delays }) => delays),
    framesPerSecond: (frames / audience / ms) * 1_000,
    cpuShare: cpu / 1_000 / ms,
    cpuUsPerFrame: cpu / frames,
  };
}

async function measureSource(lifetime: Lifetime, plan: Plan, source: Source): Promise<Measured[]> {
  let answer = { pieces: 1, everyMs };
  const model = await startStampedModel(() => answer);
  const storage = await createStorage('sqlite');
  writeAgents(storage.dataDir);
  const service = await startService(lifetime, storage, {
    PATH: `${fakeAgentPath()}:${process.env['PATH']}`,
    PARLEY_ROLE: 'all',
    PARLEY_SANDBOX: 'process',
  });
  const isScripted = source === 'scripted agent';
  await post(service.url, '/api/settings', {
    agent: isScripted ? 'fake' : 'builtin',
    llm_model: 'openai/gpt-4o',
    llm_api_key: 'bench-key-0123456789',
    llm_base_url: `${model.url}/v1`,
  });
  const ask = (pieces: number) => {
    answer = { pieces, everyMs };
    return isScripted ? `stamps ${pieces} ${everyMs}` : 'Go on.';
  };
  const measured: Measured[] = [];
  for (const audience of plan.partials.audiences)
    measured.push(await measureAudience({ service, source, ask }, plan, audience));
  await service.stop();
  model.close();
  await storage.remove();
  return measured;
}

export async function measurePartials(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const all = [
    ...(await measureSource(lifetime, plan, 'scripted agent')),
    ...(await measureSource(lifetime, plan, 'built-in agent, from the model')),
  ];
  const one = decimals(1);
  const at = (values: readonly number[], share: number) =>
    values.length === 0
      ? '–'
      : one(
          percentile(
            values.toSorted((a, b) => a - b),
            share,
          ),
        );
  const rows = all.map(({ source, readers, firstMs, delays, framesPerSecond, cpuShare, cpuUsPerFrame }) => [
    source,
    whole(readers),
    at(firstMs, 0.5),
    at(firstMs, 0.99),
    at(delays, 0.5),
    at(delays, 0.99),
    one(framesPerSecond),
    `${whole(cpuShare * 100)} %`,
    one(cpuUsPerFrame),
  ]);
  const fromModel =
    all.find(({ source, readers }) => source !== 'scripted agent' && readers === 1)?.firstMs ?? [];
  const sorted = fromModel.toSorted((a, b) => a - b);
  const ms = (value: number) => `${one(value)} ms`;
  return {
    tables: [
      {
        title: 'Text while it is written, SQLite',
        heads: [
          'written by',
          'readers',
          'first text p50 ms',
          'p99 ms',
          'every piece p50 ms',
          'p99 ms',
          'partials a second and reader',
          'CPU of the service',
          'CPU µs a partial and reader',
        ],
        rows,
        note: `From the moment when the agent or the model has written a piece until a reader has it; all readers are in one process, which takes its share. Pieces of the long message are ${everyMs} ms apart and wait up to 50 ms for each other.`,
      },
    ],
    figures: [
      atMost(
        'First text at the reader after the model has written it, p50',
        median(fromModel),
        firstTextTargetMs,
        ms,
      ),
      atMost(
        'First text at the reader after the model has written it, p99',
        percentile(sorted, 0.99),
        firstTextTargetMs,
        ms,
      ),
    ],
  };
}
