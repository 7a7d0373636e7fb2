// Generates load in its own process, as cheaply as possible: raw sockets write a prepared request, wait for the whole
// response, and repeat. Servers are loaded in turns, so that noise of the machine affects all of them.
import type { Socket } from 'node:net';
import { answerReader } from './answerReader.ts';
import { answerParent } from './child.ts';
import { cpuUs } from './processes.ts';
import { openSocket } from './sockets.ts';
import { percentile } from './statistics.ts';

export interface LoadedServer {
  readonly port: number;
  /** The process whose CPU time is measured. */
  readonly pid: number;
}

export interface Target {
  /** The processes of a service. Connections are distributed evenly. */
  readonly servers: readonly LoadedServer[];
  /** Each connection sends its share of them, one after the other, again and again. */
  readonly requests: readonly string[];
}

export interface LoadPlan {
  readonly targets: readonly Target[];
  readonly connections: number;
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmupMs: number;
  readonly settleMs: number;
  /** Sends this many requests a second, spread evenly, instead of as many as possible. */
  readonly perS?: number;
}

export interface Turn {
  readonly requestsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The CPU time of the servers, all threads, per request; NaN if the system does not provide it. */
  readonly cpuUs: number;
  /** All answers, also those that are not counted in the rate. */
  readonly answers: number;
}

const readBytes = 16_384;
const latenciesMax = 2_000_000;

const latencies = new Float64Array(latenciesMax);

function cpuOf({ servers }: Target): number {
  return servers.reduce((sum, { pid }) => sum + cpuUs(pid), 0);
}

interface Pace {
  readonly connections: number;
  readonly settleMs: number;
  readonly ms: number;
  readonly perS?: number | undefined;
}

/** Loads one server for a while. Responses in the first `settleMs` are not counted. */
async function turn(target: Target, { connections, settleMs, ms, perS }: Pace): Promise<Turn> {
  const everyMs = perS === undefined ? 0 : (connections * 1_000) / perS;
  const requests = target.requests.map((request) => Buffer.from(request));
  const ended = Promise.withResolvers<void>();
  let begin = 0;
  let count = 0;
  let answers = 0;
  let busy = connections;

  async function openOne(number: number): Promise<{ socket: Socket; start: () => void }> {
    const { port = 0 } = target.servers[number % target.servers.length] ?? {};
    let next = number;
    let askedAt = 0;
    let dueAt = 0;
    const read = answerReader(() => {
      const now = performance.now();
      answers += 1;
      if (now >= begin && now < begin + ms && count < latenciesMax) latencies[count++] = now - askedAt;
      if (now < begin + ms) askInTime(now);
      else if (--busy === 0) ended.resolve();
    });
    const socket = await openSocket(port, Buffer.allocUnsafe(readBytes), read);
    socket.on('close', () => ended.reject(new Error('the server closed a connection')));
    function ask(): void {
      askedAt = performance.now();
      socket.write(requests[next % requests.length] ?? '');
      next += connections;
    }
    /** A request that an earlier one has delayed counts from when it was due. */
    function askInTime(now: number): void {
      dueAt += everyMs;
      if (everyMs > 0 && dueAt > now) {
        setTimeout(ask, dueAt - now);
        return;
      }
      ask();
      if (everyMs > 0) askedAt = dueAt;
    }
    /** Connections begin one after the other, so that their requests are spread evenly. */
    function start(): void {
      const laterMs = (everyMs * number) / connections;
      dueAt = performance.now() + laterMs;
      if (laterMs === 0) ask();
      else setTimeout(ask, laterMs);
    }
    return { socket, start };
  }

  const opened = await Promise.all(Array.from({ length: connections }, (_, number) => openOne(number)));
  const cpuBefore = cpuOf(target);
  begin = performance.now() + settleMs;
  for (const { start } of opened) start();
  await ended.promise;
  const cpu = cpuOf(target) - cpuBefore;
  for (const { socket } of opened) socket.destroy();
  const sorted = latencies.subarray(0, count).sort();
  return {
    requestsPerS: (count * 1_000) / ms,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    cpuUs: cpu / answers,
    answers,
  };
}

/** Returns the turns of each target, in the order of the targets. */
async function run(plan: LoadPlan): Promise<Turn[][]> {
  const { targets, connections, rounds, roundMs, warmupMs, settleMs, perS } = plan;
  for (const target of targets)
    if (warmupMs > 0) await turn(target, { connections, settleMs: 0, ms: warmupMs });
  const turns: Turn[][] = targets.map(() => []);
  for (let round = 0; round < rounds; round++) {
    // The order alternates.
    const order = round % 2 === 0 ? [...targets.entries()] : [...targets.entries()].reverse();
    for (const [i, target] of order)
      turns[i]?.push(await turn(target, { connections, settleMs, ms: roundMs, perS }));
  }
  return turns;
}

if (import.meta.main) answerParent(run);
