// Installs agents as people do, `npm install -g`, but each in a version that was seen to work, and in a folder that the
// machine's own programs do not look into.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** An npm package. */
export interface Package {
  readonly name: string;
  readonly version: string;
}

export interface Installed {
  /** A folder for PATH. */
  readonly bin: string;
  remove(): void;
}

const installMs = 10 * 60_000;
const outputBytesMax = 1_000_000;

/** The one that runs this test, or the one in PATH. */
function npmProgram(): string {
  const running = process.env['npm_execpath'];
  if (running?.endsWith('npm-cli.js')) return running;
  for (const folder of (process.env['PATH'] ?? '').split(delimiter))
    try {
      return realpathSync(join(folder, 'npm'));
    } catch {}
  throw new Error('npm is not in PATH');
}

function isInstalled(folder: string, { name, version }: Package): boolean {
  try {
    const file = join(folder, 'lib/node_modules', name, 'package.json');
    return JSON.parse(readFileSync(file, 'utf8')).version === version;
  } catch {
    return false;
  }
}

/** In the folder `kept`, where one is named, what is there already is not installed again. */
export async function installAgents(packages: readonly Package[], kept?: string): Promise<Installed> {
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'parley-agents-'));
  mkdirSync(folder, { recursive: true });
  const missing = packages.filter((one) => !isInstalled(folder, one));
  const flags = ['--global', `--prefix=${folder}`, '--no-audit', '--no-fund', '--loglevel=error'];
  const wanted = missing.map(({ name, version }) => `${name}@${version}`);
  // By our Node, which their programs will run on; the machine's may be too old for them.
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  if (missing.length > 0)
    await promisify(execFile)(process.execPath, [npmProgram(), 'install', ...flags, ...wanted], {
      env: { ...process.env, PATH },
      timeout: installMs,
      maxBuffer: outputBytesMax,
    });
  return {
    bin: join(folder, 'bin'),
    remove: () => {
      if (kept === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}
