// Runs a program in a sandbox to its end, with limits on time and output.
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { keepTail } from '../text/tail.ts';
import type { OpenSandbox, ProcessEnd, SandboxProcess } from './openSandbox.ts';
import type { SandboxProgram } from './sandbox.ts';

interface TimeBounds {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  readonly input?: string | Buffer;
}

interface RunBounds extends TimeBounds {
  /** For each of the two outputs. A program that exceeds it is killed. */
  readonly outputBytesMax: number;
  /** Called with each piece of the error output, to show progress. */
  readonly onErrorOutput?: (text: string) => void;
}

interface Bounded extends ProcessEnd {
  /** Which limit ended it, if one did. */
  readonly bound: 'time' | 'output' | 'aborted' | undefined;
}

export interface RunOutcome extends Bounded {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** The time for reading the rest of the output, because a process that escaped may keep the pipe open for ever. */
const drainMsMax = 2_000;

function collect(stream: Readable, max: number, onOver: () => void): () => Buffer {
  const pieces: Buffer[] = [];
  let size = 0;
  stream.on('data', (piece: Buffer) => {
    size += piece.length;
    if (size > max) onOver();
    else pieces.push(piece);
  });
  return () => Buffer.concat(pieces);
}

type Ending = (why: NonNullable<Bounded['bound']>) => void;

/** `read` attaches to the outputs first. What it returns is called when everything was read. */
async function runBounded<Read>(
  sandbox: OpenSandbox,
  program: SandboxProgram,
  { timeoutMs, signal, input }: TimeBounds,
  read: (running: SandboxProcess, end: Ending) => () => Read,
): Promise<Bounded & Read> {
  const running = await sandbox.start(program);
  let bound: Bounded['bound'];
  const end: Ending = (why) => {
    bound ??= why;
    void running.kill();
  };
  const result = read(running, end);
  const timer = setTimeout(() => end('time'), timeoutMs);
  const abort = () => end('aborted');
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  running.stdin.end(input);
  try {
    const ended = await running.ended;
    await drained([running.stdout, running.stderr]);
    return { ...ended, bound, ...result() };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** The output is complete only when the pipes have closed. */
async function drained(streams: readonly Readable[]): Promise<void> {
  const timer = setTimeout(() => {
    for (const stream of streams) stream.destroy();
  }, drainMsMax);
  const closed = (stream: Readable) => new Promise((resolve) => stream.once('close', resolve));
  await Promise.all(streams.filter((stream) => !stream.closed).map(closed));
  clearTimeout(timer);
}

export function runToEnd(
  sandbox: OpenSandbox,
  program: SandboxProgram,
  bounds: RunBounds,
): Promise<RunOutcome> {
  const { outputBytesMax, onErrorOutput } = bounds;
  return runBounded(sandbox, program, bounds, (running, end) => {
    const stdout = collect(running.stdout, outputBytesMax, () => end('output'));
    const stderr = collect(running.stderr, outputBytesMax, () => end('output'));
    if (onErrorOutput !== undefined)
      running.stderr.on('data', (piece: Buffer) => onErrorOutput(piece.toString()));
    return () => ({ stdout: stdout(), stderr: stderr() });
  });
}

interface TailBounds extends TimeBounds {
  readonly tailBytesMax: number;
  readonly hide?: (text: string) => string;
  /** Called with each piece of either output, as it comes. Nothing in it is hidden. */
  readonly onOutput?: (text: string) => void;
}

/** Calls back with text, in which no character is cut into pieces. */
function watchOutput(stream: Readable, onOutput: (text: string) => void): void {
  const decoder = new StringDecoder();
  stream.on('data', (piece: Buffer) => onOutput(decoder.write(piece)));
}

/** Keeps only the end of both outputs together, so that the size does not matter. */
export function runForTail(
  sandbox: OpenSandbox,
  program: SandboxProgram,
  bounds: TailBounds,
): Promise<Bounded & { readonly tail: string }> {
  return runBounded(sandbox, program, bounds, ({ stdout, stderr }) => {
    const { onOutput } = bounds;
    if (onOutput !== undefined) for (const stream of [stdout, stderr]) watchOutput(stream, onOutput);
    const tail = keepTail([stdout, stderr], bounds.tailBytesMax, bounds.hide);
    return () => ({ tail: tail() });
  });
}
