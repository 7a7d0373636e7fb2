// Runs the git of this machine on a folder of its user, with the user's own configuration.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { RefusalError } from '../../errors.ts';
import { plainLine } from '../../text/plainText.ts';

const gitMs = 2 * 60_000;
const outputBytesMax = 64 * 1_024 * 1_024;
const errorCharsMax = 300;

/** Variables with which a git hook or script points git at another repository. */
const repositoryVariables = [
  ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_COMMON_DIR', 'GIT_INDEX_FILE', 'GIT_PREFIX', 'GIT_NAMESPACE'],
  ...['GIT_OBJECT_DIRECTORY', 'GIT_ALTERNATE_OBJECT_DIRECTORIES', 'GIT_LITERAL_PATHSPECS'],
];

export interface GitOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
  /** Exit codes that are not failures, besides 0. */
  readonly allowed?: readonly number[];
}

export interface GitResult {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Git failed, for a reason that this program does not know. */
export class GitError extends RefusalError {}

function environment(env: GitOptions['env']): NodeJS.ProcessEnv {
  const own = { ...process.env };
  for (const name of repositoryVariables) delete own[name];
  return { ...own, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', ...env };
}

function firstError(stderr: string): string {
  const [line = ''] = stderr.split('\n').filter((line) => line.trim() !== '');
  return plainLine(line.replace(/^(fatal|error): /, '').slice(0, errorCharsMax));
}

/** Throws a RefusalError if git is missing, fails, takes too long or writes too much. */
export async function runGit(
  folder: string,
  args: readonly string[],
  { env, input = '', allowed = [] }: GitOptions = {},
): Promise<GitResult> {
  const child = spawn('git', ['--no-pager', ...args], {
    cwd: folder,
    env: environment(env),
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: gitMs,
    killSignal: 'SIGKILL',
  });
  const pieces = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let bytes = 0;
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > outputBytesMax) child.kill('SIGKILL');
      else pieces[name].push(piece);
    });
  child.stdin.on('error', () => {
    // It may end before it has read everything.
  });
  child.stdin.end(input);
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code ?? 128 + (constants.signals[signal ?? 'SIGKILL'] ?? 0)));
  }).catch((error: NodeJS.ErrnoException) => {
    throw new GitError(
      error.code === 'ENOENT' ? 'Git is not installed.' : `Git cannot be started: ${error.code}.`,
    );
  });
  const stderr = Buffer.concat(pieces.stderr).toString();
  const command = args.find((arg, i) => !arg.startsWith('-') && args[i - 1] !== '-c') ?? '';
  if (bytes > outputBytesMax) throw new GitError(`git ${command} returned more than this command reads.`);
  if (code !== 0 && !allowed.includes(code))
    throw new GitError(`git ${command} failed: ${firstError(stderr) || `exit code ${code}`}`);
  return { code, stdout: Buffer.concat(pieces.stdout), stderr };
}

/** The output of git as one line of text; undefined if git fails. */
export async function findLine(
  folder: string,
  args: readonly string[],
  options: GitOptions = {},
): Promise<string | undefined> {
  try {
    const line = (await runGit(folder, args, options)).stdout.toString().replace(/\n$/, '');
    return line === '' ? undefined : line;
  } catch (error) {
    if (error instanceof GitError) return undefined;
    throw error;
  }
}
