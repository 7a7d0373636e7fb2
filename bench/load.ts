// The load, a process of its own and as cheap as can be: raw sockets that write a ready request, wait for its
// whole answer, and write it again. Servers are loaded in turns, so that noise of the machine meets all of them.
import type { Socket } from 'node:net';
import { answerReader } from './answerReader.ts';
import { answerParent } from './child.ts';
import { cpuUs } from './processes.ts';
import { openSocket } from './sockets.ts';
import { percentile } from './statistics.ts';

export interface Target {
  readonly port: number;
  /** The process whose processor time is counted. */
  readonly pid: number;
  /** Each connection repeats one of them. */
  readonly requests: readonly string[];
}

export interface LoadPlan {
  readonly targets: readonly Target[];
  readonly connections: number;
  readonly rounds: number;
  readonly roundMs: number;
  readonly warmupMs: number;
  readonly settleMs: number;
}

export interface Turn {
  readonly requestsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the server, all its threads, for one request; NaN where the system does not tell. */
  readonly cpuUs: number;
}

const readBytes = 16_384;
const latenciesMax = 2_000_000;

const latencies = new Float64Array(latenciesMax);

/** Loads one server for a while; what is answered in the first `settleMs` is not counted. */
async function turn(target: Target, connections: number, settleMs: number, ms: number): Promise<Turn> {
  const requests = target.requests.map((request) => Buffer.from(request));
  const ended = Promise.withResolvers<void>();
  let begin = 0;
  let count = 0;
  let answers = 0;
  let busy = connections;

  async function openOne(number: number): Promise<{ socket: Socket; ask: () => void }> {
    const request = requests[number % requests.length] ?? '';
    let askedAt = 0;
    const read = answerReader(() => {
      const now = performance.now();
      answers += 1;
      if (now >= begin && now < begin + ms && count < latenciesMax) latencies[count++] = now - askedAt;
      if (now < begin + ms) ask();
      else if (--busy === 0) ended.resolve();
    });
    const socket = await openSocket(target.port, Buffer.allocUnsafe(readBytes), read);
    socket.on('close', () => ended.reject(new Error('the server closed a connection')));
    function ask(): void {
      askedAt = performance.now();
      socket.write(request);
    }
    return { socket, ask };
  }

  const opened = await Promise.all(Array.from({ length: connections }, (_, number) => openOne(number)));
  const cpuBefore = cpuUs(target.pid);
  begin = performance.now() + settleMs;
  for (const { ask } of opened) ask();
  await ended.promise;
  const cpu = cpuUs(target.pid) - cpuBefore;
  for (const { socket } of opened) socket.destroy();
  const sorted = latencies.subarray(0, count).sort();
  return {
    requestsPerS: (count * 1_000) / ms,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    cpuUs: cpu / answers,
  };
}

/** Turns of each target, in the order of the targets. */
async function run(plan: LoadPlan): Promise<Turn[][]> {
  const { targets, connections, rounds, roundMs, warmupMs, settleMs } = plan;
  for (const target of targets) await turn(target, connections, 0, warmupMs);
  const turns: Turn[][] = targets.map(() => []);
  for (let round = 0; round < rounds; round++) {
    // Now this one is first, now that.
    const order = round % 2 === 0 ? [...targets.entries()] : [...targets.entries()].reverse();
    for (const [i, target] of order) turns[i]?.push(await turn(target, connections, settleMs, roundMs));
  }
  return turns;
}

if (import.meta.main) answerParent(run);
