// Runs git on the objects, index and files of a repository, but with our own configuration, so that no filter, monitor,
// hook or diff program of the repository can run.
import { execFile, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { kindOf, locate, Refused, readContained } from './contained.ts';
import { type References, readReferences } from './references.ts';
import type { InspectionBounds, Refusal } from './request.ts';

const emptyRepository = fileURLToPath(new URL('./emptyRepository', import.meta.url));
/** Git knows this tree even if it is not stored. */
export const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
/** Matches configuration of a repository whose objects or references have another format. */
const otherFormat = /^\s*(objectformat|refstorage)\s*=\s*"?(?!sha1|files)/im;
const configBytesMax = 1_024 * 1_024;
const gitOutputBytesMax = 16 * 1_024 * 1_024;

const options = [
  '--no-pager',
  '--literal-pathspecs',
  ...['core.fsmonitor=false', 'core.hooksPath=/dev/null', 'core.excludesFile=/dev/null'].flatMap(asOption),
  ...['core.attributesFile=/dev/null', 'protocol.allow=never'].flatMap(asOption),
  // Packs are mapped in parts, because a large one could exceed the limit of the address space.
  ...['core.packedGitWindowSize=32m', 'core.packedGitLimit=256m'].flatMap(asOption),
];

function asOption(setting: string): string[] {
  return ['-c', setting];
}

const run = promisify(execFile);

export interface Repository {
  /** The commit that changes are compared with. */
  base(): Promise<string>;
  /** Where the agent's own work began, if changes of the user came with the workspace. */
  readonly started: string | undefined;
  /** Runs git and returns its output. */
  git(...args: string[]): Promise<Buffer>;
  run(args: readonly string[], options?: RunOptions): Promise<Buffer>;
  /** Starts git and returns its output as a stream, and whether it succeeded. */
  start(args: readonly string[], input: Buffer): GitStream;
  /** The names that git prints, separated by zero bytes, each byte as a character; git is ended after `max`. */
  readNames(args: readonly string[], max: number): Promise<string[]>;
}

interface GitStream {
  readonly output: AsyncIterable<Buffer>;
  readonly ended: Promise<boolean>;
}

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: Buffer;
  readonly outputBytesMax?: number;
}

interface GitFailure {
  readonly code?: string | number;
  readonly stdout?: Buffer;
  readonly stderr?: Buffer;
}

/** The exit code of a shell that does not find git. */
const notFound = 127;
/** Git cannot limit its own memory, and Node, which starts it, could not run with this limit. */
const limitScript = 'ulimit -v "$1"; shift; exec git "$@"';
const unfetched = /unable to read [0-9a-f]{40}|missing blob object/;
const outOfMemory = /out of memory|cannot allocate memory|cannot be mapped/i;

function refusalOf({ code, stderr }: GitFailure): Refusal {
  if (code === notFound) return 'no_git';
  const text = stderr?.toString() ?? '';
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER' || outOfMemory.test(text)) return 'too_large';
  return unfetched.test(text) ? 'not_fetched' : 'odd_repository';
}

/** Whether a folder, relative to the workspace, has its own repository. */
export function hasRepository(root: string, folder: string): boolean {
  const real = locate(root, folder);
  return real === join(root, folder) && kindOf(join(real, '.git')) === 'folder';
}

/** The folder of the closest repository that contains the path. */
export function closestRepository(root: string, path: string): string {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (hasRepository(root, folder)) return folder;
    if (folder === '.') throw new Refused('no_repository');
  }
}

function hasLinks(folder: string): boolean {
  return readdirSync(folder, { withFileTypes: true }).some((entry) => entry.isSymbolicLink());
}

/** Links among the objects, or alternates, would lead git out of the workspace; other formats cannot be read. */
function checkLayout(gitDir: string): void {
  const config = readContained(gitDir, 'config', configBytesMax)?.toString() ?? '';
  const objects = join(gitDir, 'objects');
  const folders = [objects, join(objects, 'info'), join(objects, 'pack')];
  const index = kindOf(join(gitDir, 'index'));
  const odd =
    otherFormat.test(config) ||
    kindOf(objects) !== 'folder' ||
    folders.some(
      (folder) => kindOf(folder) !== undefined && (kindOf(folder) !== 'folder' || hasLinks(folder)),
    ) ||
    kindOf(join(objects, 'info', 'alternates')) !== undefined ||
    (index !== undefined && index !== 'file');
  if (odd) throw new Refused('odd_repository');
}

function environment(gitDir: string, workTree: string): NodeJS.ProcessEnv {
  const shallow = join(gitDir, 'shallow');
  return {
    PATH: process.env['PATH'],
    LC_ALL: 'C',
    GIT_DIR: emptyRepository,
    GIT_OBJECT_DIRECTORY: join(gitDir, 'objects'),
    GIT_INDEX_FILE: join(gitDir, 'index'),
    GIT_WORK_TREE: workTree,
    ...(kindOf(shallow) === 'file' ? { GIT_SHALLOW_FILE: shallow } : {}),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_TERMINAL_PROMPT: '0',
  };
}

export function openRepository(
  root: string,
  folder: string,
  { gitAddressBytesMax }: Pick<InspectionBounds, 'gitAddressBytesMax'>,
): Repository {
  const workTree = join(root, folder);
  const gitDir = join(workTree, '.git');
  checkLayout(gitDir);
  const env = environment(gitDir, workTree);
  const references: References = readReferences(gitDir);

  async function runGit(args: readonly string[], more: RunOptions = {}): Promise<Buffer> {
    const { input, outputBytesMax: maxBuffer = gitOutputBytesMax } = more;
    try {
      const bounds = { cwd: workTree, env: { ...env, ...more.env }, encoding: 'buffer', maxBuffer } as const;
      const script = ['-c', limitScript, 'git', String(gitAddressBytesMax / 1_024)];
      const running = run('sh', [...script, ...options, ...args], bounds);
      // Git may end before it has read everything.
      running.child.stdin?.on('error', () => {}).end(input);
      return (await running).stdout;
    } catch (error) {
      const failure = error as GitFailure;
      // Some commands report an empty result this way.
      if (failure.code === 1 && failure.stdout?.length === 0) return failure.stdout;
      throw new Refused(refusalOf(failure));
    }
  }

  function startGit(args: readonly string[], input: Buffer): GitStream {
    const script = ['-c', limitScript, 'git', String(gitAddressBytesMax / 1_024)];
    const child = spawn('sh', [...script, ...options, ...args], {
      cwd: workTree,
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const ended = new Promise<boolean>((resolve) => {
      child.once('error', () => resolve(false));
      child.once('close', (code) => resolve(code === 0));
    });
    child.stdin.on('error', () => {}).end(input);
    return { output: child.stdout, ended };
  }

  async function readNames(args: readonly string[], max: number): Promise<string[]> {
    const { output, ended } = startGit(args, Buffer.alloc(0));
    const names: string[] = [];
    let rest = '';
    // Leaving the loop closes the pipe, which ends git.
    for await (const part of output) {
      const words = (rest + part.toString('latin1')).split('\0');
      rest = words.pop() ?? '';
      for (const word of words) names.push(word);
      if (names.length > max) return names;
    }
    if (!(await ended)) throw new Refused('odd_repository');
    return names;
  }

  const git = (...args: string[]) => runGit(args);

  async function base(): Promise<string> {
    const { head, start } = references;
    if (start === 'empty') return emptyTree;
    // If the start is unknown, the branch is compared with origin, although a push moves that.
    const from = start?.commit ?? references.origin;
    if (from === undefined) return emptyTree;
    if (head === undefined) return from;
    const common = (await git('merge-base', head, from)).toString().trim();
    return common === '' ? from : common;
  }

  return { base, started: references.started, git, run: runGit, start: startGit, readNames };
}
