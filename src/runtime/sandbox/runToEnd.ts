// A program in a cell that is run to its end, with bounds on time and output.
import type { Readable } from 'node:stream';
import type { End, OpenCell } from './openCell.ts';
import type { Launch } from './sandbox.ts';

export interface RunBounds {
  readonly timeoutMs: number;
  /** Of each of the two outputs; more ends the program. */
  readonly outputBytesMax: number;
  readonly signal?: AbortSignal;
  readonly input?: string | Buffer;
  /** Called with each piece of the error output as it comes: progress. */
  readonly onErrorOutput?: (text: string) => void;
}

export interface RunOutcome extends End {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Which bound ended it, where one did. */
  readonly bound: 'time' | 'output' | 'aborted' | undefined;
}

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

export async function runToEnd(cell: OpenCell, launch: Launch, bounds: RunBounds): Promise<RunOutcome> {
  const { timeoutMs, outputBytesMax, signal, input, onErrorOutput } = bounds;
  const program = await cell.enter(launch);
  let bound: RunOutcome['bound'];
  const end = (why: NonNullable<RunOutcome['bound']>) => {
    bound ??= why;
    void program.kill();
  };
  const stdout = collect(program.stdout, outputBytesMax, () => end('output'));
  const stderr = collect(program.stderr, outputBytesMax, () => end('output'));
  if (onErrorOutput !== undefined)
    program.stderr.on('data', (piece: Buffer) => onErrorOutput(piece.toString()));
  const timer = setTimeout(() => end('time'), timeoutMs);
  const abort = () => end('aborted');
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  program.stdin.end(input);
  try {
    const ended = await program.ended;
    await Promise.all([drained(program.stdout), drained(program.stderr)]);
    return { ...ended, stdout: stdout(), stderr: stderr(), bound };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** All that a program has written is read only when its pipe has closed. */
function drained(stream: Readable): Promise<void> {
  return stream.closed ? Promise.resolve() : new Promise((resolve) => stream.once('close', () => resolve()));
}
