// Starts and ends programs in the pod. All of them have the same user and see each other, so a variable tells whose
// descendant a process is.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { allGone, type KnownProcess, killTree, knownProcess } from '../../processes.ts';
import type { Multiplexer } from '../multiplexer.ts';
import { type ProgramRequest, requestBytesMax, requestSizeBytes } from '../protocol.ts';

const marker = 'PARLEY_PROGRAM';
/** Set in pods, where every process is a program's. */
const isAlone = process.env['PARLEY_POD'] === '1';
const goneMsMax = 5_000;
const killRoundsMax = 50;
const killAgainMs = 20;

/** Process 1 waits for the supervisor and ends with it. */
const own: ReadonlySet<number> = new Set([1, process.pid, process.ppid]);

/** Finds the id of a program. The mark tells those of one worker from all others. */
const patternOf = (mark: string) => new RegExp(`(?:^|\\0)${marker}=${mark}\\.(\\d+)\\0`);

/** Lists the running processes, with the id of their program if it is known. A zombie has no environment and is left out. */
function listMarked(markPattern: RegExp): { readonly pid: number; readonly program: number | undefined }[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && !own.has(pid))
    .flatMap((pid) => {
      try {
        const variables = readFileSync(`/proc/${pid}/environ`, 'latin1');
        const [, id] = markPattern.exec(variables) ?? [];
        if (variables === '' || (id === undefined && !isAlone)) return [];
        return [{ pid, program: id === undefined ? undefined : Number(id) }];
      } catch {
        return [];
      }
    });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** Again and again, because they may be starting others. Returns false if some are left. */
async function killMatching(
  markPattern: RegExp,
  isMeant: (program: number | undefined) => boolean,
): Promise<boolean> {
  for (let round = 0; round < killRoundsMax; round++) {
    const found = listMarked(markPattern).filter(({ program }) => isMeant(program));
    if (found.length === 0) return true;
    for (const { pid } of found) kill(pid);
    await wait(killAgainMs);
  }
  return false;
}

/** The variables of the image. Those that Kubernetes adds are of no use without a network, and one is for the supervisor. */
const imageVariables = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(KUBERNETES_|PARLEY_POD$)/.test(name)),
);

/** Waits until something can be read, or never will. */
function untilReadable(channel: Duplex): Promise<void> {
  const events = ['readable', 'end', 'close'];
  return new Promise((resolve) => {
    const go = () => {
      for (const event of events) channel.off(event, go);
      resolve();
    };
    for (const event of events) channel.on(event, go);
  });
}

/** The request at the beginning of a channel. Rejects if it is cut off. */
async function readRequest(channel: Duplex): Promise<ProgramRequest> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    const size = bytes.length < requestSizeBytes ? 0 : bytes.readUInt32BE(0);
    if (size > requestBytesMax) throw new Error('the request is too large');
    const end = requestSizeBytes + size;
    if (size > 0 && bytes.length >= end) {
      // The rest is for the program.
      if (bytes.length > end) channel.unshift(bytes.subarray(end));
      return JSON.parse(bytes.subarray(requestSizeBytes, end).toString()) as ProgramRequest;
    }
    const piece = channel.read() as Buffer | null;
    if (piece !== null) bytes = Buffer.concat([bytes, piece]);
    else if (channel.readableEnded || channel.destroyed) throw new Error('the request is cut off');
    else await untilReadable(channel);
  }
}

function spawnProgram(name: string, { argv: [command, ...args], env, cwd }: ProgramRequest): ChildProcess {
  return spawn(command, args, {
    cwd,
    env: { ...imageVariables, ...env, [marker]: name },
    stdio: ['pipe', 'pipe', 'pipe'],
    // Its own process group can be killed as a whole.
    detached: true,
  });
}

/** The programs of one worker. */
export function createPrograms(connection: () => Multiplexer) {
  const mark = randomBytes(8).toString('hex');
  const pattern = patternOf(mark);
  const killMarked = (isMeant: (program: number | undefined) => boolean) => killMatching(pattern, isMeant);
  const running = new Map<number, KnownProcess>();
  const reported = new Set<Promise<void>>();
  let isOver = false;

  /** Connects the streams of a program that has started. */
  function connect(id: number, child: ChildProcess, input: Duplex): void {
    const { stdin, stdout, stderr } = child;
    if (stdin === null || stdout === null || stderr === null) return;
    stdin.on('error', () => input.destroy());
    // What it has not read yet is still written after a proper end.
    input.on('close', () => input.readableEnded || stdin.destroy());
    input.pipe(stdin);
    for (const [output, stream] of [
      ['stdout', stdout],
      ['stderr', stderr],
    ] as const) {
      const { channel } = connection().open({ output, of: id });
      channel.resume();
      // The program learns that nobody reads it.
      channel.on('close', () => stream.destroy());
      stream.on('error', () => channel.end());
      stream.pipe(channel);
    }
  }

  async function end(id: number): Promise<void> {
    const leader = running.get(id);
    const found = leader === undefined ? [] : killTree(leader);
    await killMarked((program) => program === id);
    await allGone(found, goneMsMax);
  }

  function failed(id: number, input: Duplex, error: NodeJS.ErrnoException): void {
    connection().control({ failed: id, code: error.code ?? 'EINVAL' });
    input.destroy();
  }

  async function start(id: number, input: Duplex): Promise<void> {
    // Nothing is sent to the worker in this direction.
    input.end();
    try {
      const request = await readRequest(input);
      if (isOver) throw new Error('all programs are being ended');
      const child = spawnProgram(`${mark}.${id}`, request);
      let hasStarted = false;
      child.once('error', (error) => hasStarted || failed(id, input, error));
      child.once('spawn', () => {
        hasStarted = true;
        running.set(id, knownProcess(child.pid as number));
        connect(id, child, input);
        connection().control({ started: id });
      });
      const report = async (code: number | null, signal: NodeJS.Signals | null) => {
        await end(id);
        running.delete(id);
        input.destroy();
        connection().control({ ended: id, code, signal });
      };
      const { promise, resolve } = Promise.withResolvers<void>();
      reported.add(promise);
      void promise.then(() => reported.delete(promise));
      child.once('error', () => hasStarted || resolve());
      child.once('exit', (code, signal) => void report(code, signal).then(resolve));
    } catch (error) {
      failed(id, input, error as NodeJS.ErrnoException);
    }
  }

  return {
    start,
    /** Its exit is reported as always. */
    kill: end,
    /** Ends all of them and lets no others start. Returns false if that was not possible. */
    endAll: async () => {
      isOver = true;
      const areGone = await killMarked(() => true);
      await Promise.race([Promise.all(reported), wait(goneMsMax)]);
      return areGone && reported.size === 0;
    },
    sweep: () => killMarked((program) => program === undefined || !running.has(program)),
  };
}
