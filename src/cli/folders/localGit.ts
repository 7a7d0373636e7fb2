// Runs the git of this machine. Hooks and file system monitors never run, and a command ends in a bounded time together
// with all programs that it has started.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { RefusalError } from '../../errors.ts';
import { plainLine } from '../../text/plainText.ts';
import { withCleanup } from './cleanup.ts';

/** Somebody waits for the command. */
const gitMs = 30_000;
/** How long the output is awaited after git has ended: another program may have inherited its pipes. */
const closeMs = 1_000;
const outputBytesMax = 64 * 1_024 * 1_024;
const errorCharsMax = 300;

/** Variables with which a git hook or script points git at another repository. */
const repositoryVariables = [
  ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_COMMON_DIR', 'GIT_INDEX_FILE', 'GIT_PREFIX', 'GIT_NAMESPACE'],
  ...['GIT_OBJECT_DIRECTORY', 'GIT_ALTERNATE_OBJECT_DIRECTORIES', 'GIT_LITERAL_PATHSPECS', 'GIT_CONFIG'],
  ...['GIT_SHALLOW_FILE', 'GIT_GRAFT_FILE', 'GIT_REPLACE_REF_BASE', 'GIT_IMPLICIT_WORK_TREE'],
];

/** Programs that even the configuration of the user may name by a path in the repository. */
const strictConfig = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'gc.auto=0',
  'maintenance.auto=false',
];

export interface GitOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string | Buffer;
  /** Exit codes that are not failures, besides 0. */
  readonly allowed?: readonly number[];
  readonly timeoutMs?: number;
}

export interface GitResult {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Git failed, for a reason that this program does not know. */
export class GitError extends RefusalError {}

/** Runs git in a certain folder. */
export type Git = (args: readonly string[], options?: GitOptions) => Promise<GitResult>;

function environment(env: GitOptions['env']): NodeJS.ProcessEnv {
  const own = { ...process.env };
  for (const name of repositoryVariables) delete own[name];
  const quiet = { LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1' };
  return { ...own, ...quiet, ...env };
}

export function firstError(stderr: string): string {
  const [line = ''] = stderr.split('\n').filter((line) => line.trim() !== '');
  return plainLine(line.replace(/^(fatal|error): /, '').slice(0, errorCharsMax));
}

type GitProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** Git is the leader of its process group. */
function killGroup({ pid }: GitProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** The exit code, when all output has been read, or shortly after git has ended. */
async function waitForEnd(child: GitProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let timer: NodeJS.Timeout | undefined;
  child.on('error', reject);
  child.on('exit', (code, signal) => {
    const end = () => resolve(code ?? 128 + (constants.signals[signal ?? 'SIGKILL'] ?? 0));
    child.on('close', end);
    timer = setTimeout(() => {
      killGroup(child);
      child.stdout.destroy();
      child.stderr.destroy();
      end();
    }, closeMs);
  });
  return promise.finally(() => clearTimeout(timer));
}

interface Ended extends GitResult {
  readonly isLate: boolean;
  readonly isTooLong: boolean;
}

async function runProcess(child: GitProcess, { input = '', timeoutMs = gitMs }: GitOptions): Promise<Ended> {
  const pieces = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let bytes = 0;
  let isLate = false;
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > outputBytesMax) killGroup(child);
      else pieces[name].push(piece);
    });
  child.stdin.on('error', () => {
    // It may end before it has read everything.
  });
  child.stdin.end(input);
  const timer = setTimeout(() => {
    isLate = true;
    killGroup(child);
  }, timeoutMs);
  const code = await waitForEnd(child).finally(() => clearTimeout(timer));
  return {
    code,
    stdout: Buffer.concat(pieces.stdout),
    stderr: Buffer.concat(pieces.stderr).toString(),
    isLate,
    isTooLong: bytes > outputBytesMax,
  };
}

/** Throws a GitError if git is missing, fails or writes too much, and another RefusalError if it takes too long. */
export async function runGit(
  folder: string,
  args: readonly string[],
  options: GitOptions = {},
): Promise<GitResult> {
  const strict = strictConfig.flatMap((line) => ['-c', line]);
  const child = spawn('git', ['--no-pager', ...strict, ...args], {
    cwd: folder,
    env: environment(options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const { isLate, isTooLong, ...result } = await withCleanup(
    () => child.exitCode === null && child.signalCode === null && killGroup(child),
    () => runProcess(child, options),
  ).catch((error: NodeJS.ErrnoException) => {
    throw new GitError(
      error.code === 'ENOENT' ? 'Git is not installed.' : `Git cannot be started: ${error.code}.`,
    );
  });
  const command = args.find((arg, i) => !arg.startsWith('-') && args[i - 1] !== '-c') ?? '';
  if (isLate) throw new RefusalError(`git ${command} did not end in time in ${plainLine(folder)}.`);
  if (isTooLong) throw new GitError(`git ${command} returned more than this command reads.`);
  if (result.code !== 0 && options.allowed?.includes(result.code) !== true)
    throw new GitError(`git ${command} failed: ${firstError(result.stderr) || `exit code ${result.code}`}`);
  return result;
}

/** The output of git as one line of text; undefined if git fails. */
export async function findLine(git: Git, args: readonly string[]): Promise<string | undefined> {
  try {
    const line = (await git(args)).stdout.toString().replace(/\n$/, '');
    return line === '' ? undefined : line;
  } catch (error) {
    if (error instanceof GitError) return undefined;
    throw error;
  }
}
