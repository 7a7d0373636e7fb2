// Runs the real program as child processes, for tests that kill it. No child outlives its test.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { createStorage, type TestStorage } from './databases.ts';
import { compileCacheDir, mainFile, projectDir } from './program.ts';
import { type Answer, type Ask, ask } from './service.ts';
import { until } from './until.ts';

const faultsUrl = new URL('./sqliteFaults.ts', import.meta.url).href;

export const startWithinMs = 30_000;
const endWithinMs = 30_000;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Program {
  readonly pid: number | undefined;
  /** What it wrote so far. */
  stdout(): string;
  stderr(): string;
  /** The URL in its output; undefined before it was printed. */
  listeningUrl(): string | undefined;
  send(signal: NodeJS.Signals): void;
  hasEnded(): boolean;
  /** Waits for its exit, with a timeout. */
  ended(): Promise<Ended>;
}

export interface Service extends Program {
  readonly url: string;
  /** The owner's API key; empty if another process has it. */
  readonly key: string;
  ask(path: string, asked?: Ask): Promise<Answer>;
}

export interface ProgramOptions {
  readonly env?: Record<string, string>;
  /** Arguments after `serve`. */
  readonly flags?: readonly string[];
  /** Enables injected faults. */
  readonly faults?: boolean;
}

/** A data folder, a database, and the programs that use them. All of it ends with the test. */
export interface Site {
  readonly kind: DatabaseKind;
  readonly storage: TestStorage;
  /** The folder of fault files: see sqliteFaults.ts. */
  readonly faultsDir: string;
  /** Starts `parley serve` and waits until it listens. */
  serve(options?: ProgramOptions): Promise<Service>;
  /** Starts `parley serve` without waiting. */
  begin(options?: ProgramOptions): Program;
  /** Runs the program with these arguments to its end. */
  run(args: readonly string[], options?: ProgramOptions): Promise<Ended>;
  /** Starts any other program. */
  spawn(command: string, args: readonly string[], env: Record<string, string>): Program;
  /** The environment of a program on this site. */
  environment(options?: ProgramOptions): Record<string, string>;
  /** Another empty folder. */
  createDir(): string;
}

const living = new Set<ChildProcess>();

/** Kills the child and its descendants; each child leads a process group. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is gone already.
  }
}

function killLiving(): void {
  for (const child of living) killGroup(child);
}

process.on('exit', killLiving);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));

function startProgram(command: string, args: readonly string[], env: Record<string, string>) {
  const child = spawn(command, args, {
    cwd: projectDir,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  living.add(child);
  const written = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (written.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (written.stderr += text));
  let ended: Ended | undefined;
  // `close` comes when nobody has the pipes open any more, so not before its own children have ended.
  child.on('close', (code, signal) => {
    living.delete(child);
    ended = { code, signal, ...written };
  });
  child.on('error', (error) => (written.stderr += String(error)));
  const program: Program = {
    pid: child.pid,
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    listeningUrl: () => /listens on (http:\S+)/.exec(written.stdout)?.[1],
    send: (signal) => void child.kill(signal),
    hasEnded: () => ended !== undefined,
    ended: () => until(`the end of ${args.join(' ')}`, () => ended, endWithinMs),
  };
  return { program, child };
}

function readOwnerKey(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, 'owner.key'), 'utf8').trim();
  } catch {
    return '';
  }
}

/** Waits until the service listens. Throws with its last output if it ends instead. */
export async function untilListening(program: Program): Promise<string> {
  return until(
    'the service listens',
    () => {
      if (program.hasEnded()) throw new Error(`the service ended: ${program.stderr()}`);
      return program.listeningUrl();
    },
    startWithinMs,
  );
}

export async function createSite(
  kind: DatabaseKind,
  t: { after(fn: () => Promise<void>): void },
  { main = mainFile } = {},
): Promise<Site> {
  const storage = await createStorage(kind, { migrated: false });
  const dirs: string[] = [];
  const started: ReturnType<typeof startProgram>[] = [];

  t.after(async () => {
    for (const { child } of started) killGroup(child);
    for (const { program } of started) await program.ended();
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
    await storage.remove();
  });

  function createDir(): string {
    const dir = mkdtempSync(join(tmpdir(), 'parley-test-'));
    dirs.push(dir);
    return dir;
  }

  const faultsDir = createDir();

  function environment({ env, faults }: ProgramOptions = {}): Record<string, string> {
    return {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      NODE_COMPILE_CACHE: compileCacheDir,
      PORT: '0',
      PARLEY_DATA_DIR: storage.dataDir,
      PARLEY_ROLE: 'api',
      ...(storage.databaseUrl === undefined ? {} : { DATABASE_URL: storage.databaseUrl }),
      ...(faults ? { NODE_OPTIONS: `--import=${faultsUrl}`, PARLEY_TEST_FAULTS: faultsDir } : {}),
      ...env,
    };
  }

  function start(command: string, args: readonly string[], env: Record<string, string>) {
    const one = startProgram(command, args, env);
    started.push(one);
    return one.program;
  }

  function startServe(options: ProgramOptions) {
    return start(process.execPath, [main, 'serve', ...(options.flags ?? [])], environment(options));
  }

  return {
    kind,
    storage,
    faultsDir,
    environment,
    createDir,
    spawn: (command, args, env) => start(command, args, env),
    begin: (options = {}) => startServe(options),
    run: (args, options = {}) => start(process.execPath, [main, ...args], environment(options)).ended(),
    serve: async (options = {}) => {
      const program = startServe(options);
      const url = await untilListening(program);
      const { PARLEY_DATA_DIR: dataDir = storage.dataDir, SESSION_API_KEY: preset } = options.env ?? {};
      const key = preset ?? readOwnerKey(dataDir);
      return {
        ...program,
        url,
        key,
        ask: (path, asked = {}) =>
          ask(url, path, { key, ...asked }).catch((error) => {
            throw new Error(`no answer; the service wrote: ${program.stderr()}`, { cause: error });
          }),
      };
    },
  };
}
