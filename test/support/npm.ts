// npm for tests that install packages: always on the Node that runs the tests, because the machine's may be too old.
import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const installMs = 10 * 60_000;
const outputBytesMax = 1_000_000;
const failureCharsMax = 500;

/** The npm that runs this test, or the one in PATH. */
export function npmProgram(): string {
  const running = process.env['npm_execpath'];
  if (running?.endsWith('npm-cli.js')) return running;
  for (const folder of (process.env['PATH'] ?? '').split(delimiter))
    try {
      return realpathSync(join(folder, 'npm'));
    } catch {}
  throw new Error('npm is not in PATH');
}

export async function runNpm(args: readonly string[]): Promise<void> {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  await promisify(execFile)(process.execPath, [npmProgram(), ...args, ...quiet], {
    env: { ...process.env, PATH },
    timeout: installMs,
    maxBuffer: outputBytesMax,
  });
}

/** What npm printed about the failure, or the error itself. */
export function describeNpmFailure(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return (stderr?.trim() || message).slice(0, failureCharsMax);
}

/** Codes of npm and Node for a registry that cannot be reached. */
const unreachable = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT)\b/;

/**
 * Installs what the package.json of the folder names; with `ci`, what its lock file names. Returns why the tests must be
 * skipped. Other failures are thrown.
 */
export async function installFolder(folder: string, command: 'ci' | 'install'): Promise<string | false> {
  const from = [`--prefix=${folder}`, '--ignore-scripts', '--prefer-offline', '--fetch-retries=1'];
  try {
    await runNpm([command, ...from, ...(command === 'install' ? ['--no-package-lock'] : [])]);
    return false;
  } catch (error) {
    const failure = describeNpmFailure(error);
    if (!unreachable.test(failure)) throw new Error(failure);
    return `the npm registry cannot be reached: ${unreachable.exec(failure)?.[0]}`;
  }
}
