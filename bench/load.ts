// The load, a process of its own and as cheap as can be: raw sockets that write a ready request, wait for its
// whole answer, and write it again. Servers are loaded in turns, so that noise of the machine meets all of them.
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { answerReader } from './answerReader.ts';
import { percentile } from './statistics.ts';

export interface Target {
  readonly port: number;
  /** The process whose processor time is counted. */
  readonly pid: number;
  readonly request: string;
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

/** Turns of each target, in the order of the targets. */
export type LoadResult = { readonly turns: readonly (readonly Turn[])[] } | { readonly error: string };

const readBytes = 16_384;
const latenciesMax = 2_000_000;
const usPerTick = 10_000;

const latencies = new Float64Array(latenciesMax);

function open(port: number, onBytes: (bytes: Buffer) => void): Promise<Socket> {
  const buffer = Buffer.allocUnsafe(readBytes);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const onread = {
    buffer,
    callback: (length: number) => {
      onBytes(buffer.subarray(0, length));
      return true;
    },
  };
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread }, () => resolve(socket));
  socket.on('error', reject);
  socket.on('close', () => reject(new Error('the server closed a connection')));
  return promise;
}

function cpuUs(pid: number): number {
  try {
    // After the name in brackets, which may hold anything: user and system time are the 12th and 13th field.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * usPerTick;
  } catch {
    return Number.NaN;
  }
}

/** Loads one server for a while; what is answered in the first `settleMs` is not counted. */
async function turn(target: Target, connections: number, settleMs: number, ms: number): Promise<Turn> {
  const request = Buffer.from(target.request);
  const ended = Promise.withResolvers<void>();
  let begin = 0;
  let count = 0;
  let answers = 0;
  let busy = connections;

  async function openOne(): Promise<{ socket: Socket; ask: () => void }> {
    let askedAt = 0;
    const read = answerReader(() => {
      const now = performance.now();
      answers += 1;
      if (now >= begin && now < begin + ms && count < latenciesMax) latencies[count++] = now - askedAt;
      if (now < begin + ms) ask();
      else if (--busy === 0) ended.resolve();
    });
    const socket = await open(target.port, read);
    socket.on('close', () => ended.reject(new Error('the server closed a connection')));
    function ask(): void {
      askedAt = performance.now();
      socket.write(request);
    }
    return { socket, ask };
  }

  const opened = await Promise.all(Array.from({ length: connections }, openOne));
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

async function run(plan: LoadPlan): Promise<Turn[][]> {
  const { targets, connections, rounds, roundMs, warmupMs, settleMs } = plan;
  for (const target of targets) await turn(target, connections, 0, warmupMs);
  const turns: Turn[][] = targets.map(() => []);
  for (let round = 0; round < rounds; round++)
    for (const [i, target] of targets.entries())
      turns[i]?.push(await turn(target, connections, settleMs, roundMs));
  return turns;
}

function report(result: LoadResult): void {
  process.send?.(result, () => process.exit());
}

if (import.meta.main) {
  process.once('disconnect', () => process.exit(1));
  process.once('uncaughtException', (error) => report({ error: error.message }));
  process.once('message', (plan: LoadPlan) => {
    run(plan).then(
      (turns) => report({ turns }),
      (error: Error) => report({ error: error.message }),
    );
  });
}
