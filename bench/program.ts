// Starts a server as a child process and reads its URL from its output.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Lifetime } from './lifetime.ts';

const startMsMax = 20_000;
const stopMsMax = 15_000;
const outputCharsMax = 4_000;

export interface Program {
  readonly url: string;
  readonly pid: number;
  /** The time just before the spawn, by performance.now(). */
  readonly spawnedAt: number;
  /** Asks the process to stop and waits. Kills it if it takes too long. */
  stop(): Promise<void>;
}

/** Runs `node ARGS`. If it prints no URL, throws with the end of its output. */
export async function startProgram(
  lifetime: Lifetime,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Program> {
  const spawnedAt = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  lifetime.adopt(child);
  const ended = once(child, 'exit');
  ended.catch(() => {});
  const found = Promise.withResolvers<string>();
  let output = '';

  function read(chunk: Buffer): void {
    output = (output + chunk.toString()).slice(-outputCharsMax);
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
    if (url !== undefined) found.resolve(url);
  }
  function fail(reason: string): void {
    found.reject(new Error(`${args.at(0)} ${reason}:\n${output}`));
  }

  child.stdout.on('data', read);
  child.stderr.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-outputCharsMax);
  });
  child.on('error', (error) => fail(error.message));
  child.on('exit', (code, signal) => fail(`ended (${signal ?? code})`));
  const late = setTimeout(() => fail(`printed no address in ${startMsMax} ms`), startMsMax);

  async function stop(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    const kill = setTimeout(() => child.kill('SIGKILL'), stopMsMax);
    await ended;
    clearTimeout(kill);
  }

  try {
    return { url: await found.promise, pid: child.pid ?? 0, spawnedAt, stop };
  } finally {
    clearTimeout(late);
  }
}
