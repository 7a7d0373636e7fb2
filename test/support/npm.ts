// npm for tests that install packages: always on the Node that runs the tests, because the machine's may be too old.
import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const installMs = 10 * 60_000;
const outputBytesMax = 1_000_000;
const failureCharsMax = 500;

/** The npm that runs this test, or the one in PATH. */
function npmProgram(): string {
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
