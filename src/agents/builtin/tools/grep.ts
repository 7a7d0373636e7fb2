// Runs grep for the model, with limits of time and output.
import { spawn } from 'node:child_process';
import type { Environment } from './command.ts';
import { ToolFailure } from './failure.ts';

export interface Grep {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  readonly signal: AbortSignal;
}

export interface Grepped {
  /** Whole lines only. */
  readonly lines: readonly string[];
  /** Whether grep was ended before it had found everything. */
  readonly cut: boolean;
}

const searchMsMax = 20_000;
const outputBytesMax = 1_000_000;
const complaintBytesMax = 2_000;
const foundNothing = 1;

interface Run {
  output: string;
  complaint: string;
  why: 'full' | 'late' | 'aborted' | undefined;
  exitCode: number | null;
}

/** Rejects only if grep cannot be started. */
function runGrep({ args, cwd, env, signal }: Grep): Promise<Run> {
  const run: Run = { output: '', complaint: '', why: undefined, exitCode: null };
  return new Promise((resolve, reject) => {
    const child = spawn('grep', args, {
      cwd,
      // Messages must be in English to be recognized, and colours would be part of the lines.
      env: { ...env, LC_ALL: 'C.UTF-8', GREP_COLORS: '', GREP_COLOR: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const end = (why: Run['why']) => {
      run.why ??= why;
      child.kill('SIGKILL');
    };
    child.on('error', reject);
    // Contrary to their types, the streams are undefined if no pipes could be created.
    if (child.stdout == null || child.stderr == null) return;
    const timer = setTimeout(() => end('late'), searchMsMax);
    const abort = () => end('aborted');
    signal.addEventListener('abort', abort, { once: true });
    const over = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    };
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      if (run.output.length < outputBytesMax) run.output += piece;
      else end('full');
    });
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      if (run.complaint.length < complaintBytesMax) run.complaint += piece;
    });
    child.on('error', over);
    child.once('close', (exitCode) => {
      over();
      resolve({ ...run, exitCode });
    });
  });
}

/** Throws a `ToolFailure` if grep refuses the pattern, or nothing was found in time. */
export async function grep(asked: Grep): Promise<Grepped> {
  if (asked.signal.aborted) throw new ToolFailure('Stopped by the user.');
  const { output, complaint, why, exitCode } = await runGrep(asked).catch((error: Error) => {
    throw new ToolFailure(`grep could not be started: ${error.message}. Use bash.`);
  });
  if (why === 'aborted') throw new ToolFailure('Stopped by the user.');
  const lines = output.split('\n');
  const unfinished = lines.pop();
  if (why === 'late' && lines.length === 0)
    throw new ToolFailure(`Nothing was found in ${searchMsMax / 1_000} s. Give a narrower path, or a glob.`);
  if (
    why === undefined &&
    exitCode !== 0 &&
    exitCode !== foundNothing &&
    lines.length === 0 &&
    complaint !== ''
  )
    throw new ToolFailure(
      `The pattern is no extended regular expression: ${complaint.replace(/^grep: /, '').trim()}. Put a backslash before characters that are meant as they are: ( ) [ ] { } . * + ? | ^ $`,
    );
  if (why === undefined && unfinished !== undefined && unfinished !== '') lines.push(unfinished);
  return { lines, cut: why !== undefined };
}
