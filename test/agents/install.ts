// Installs agents as people do, `npm install -g`, but each in a version that was seen to work, and in a folder of its
// own that the machine's own programs do not look into: where one cannot be had, the others can.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** An npm package. */
export interface Package {
  readonly name: string;
  readonly version: string;
}

export interface Installed {
  /** Folders for PATH. */
  readonly bins: readonly string[];
  /** Why a package could not be installed, by its name. */
  readonly faults: ReadonlyMap<string, string>;
  remove(): void;
}

const installMs = 10 * 60_000;
const outputBytesMax = 1_000_000;
const faultCharsMax = 500;

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

/** Installs into the folder, which must not exist. */
export type Install = (one: Package, folder: string) => Promise<void>;

const npmInstall: Install = async ({ name, version }, folder) => {
  const flags = ['--global', `--prefix=${folder}`, '--no-audit', '--no-fund', '--loglevel=error'];
  // By our Node, which their programs will run on; the machine's may be too old for them.
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  await promisify(execFile)(process.execPath, [npmProgram(), 'install', ...flags, `${name}@${version}`], {
    env: { ...process.env, PATH },
    timeout: installMs,
    maxBuffer: outputBytesMax,
  });
};

/** The folder gets its name when all is in it: what has the name is complete, whenever an install was broken off. */
async function installOne(one: Package, root: string, install: Install): Promise<string> {
  const place = join(root, `${one.name.replaceAll(/[^\w.-]/g, '_')}-${one.version}`);
  if (existsSync(place)) return place;
  const part = `${place}.part`;
  rmSync(part, { recursive: true, force: true });
  try {
    await install(one, part);
    renameSync(part, place);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
  return place;
}

function faultOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return (stderr?.trim() || message).slice(0, faultCharsMax);
}

/** In the folder `kept`, where one is named, what is there already is not installed again. */
export async function installAgents(
  packages: readonly Package[],
  kept?: string,
  install = npmInstall,
): Promise<Installed> {
  const root = kept ?? mkdtempSync(join(tmpdir(), 'parley-agents-'));
  mkdirSync(root, { recursive: true });
  const bins: string[] = [];
  const faults = new Map<string, string>();
  for (const one of packages)
    try {
      bins.push(join(await installOne(one, root, install), 'bin'));
    } catch (error) {
      faults.set(one.name, faultOf(error));
    }
  return {
    bins,
    faults,
    remove: () => {
      if (kept === undefined) rmSync(root, { recursive: true, force: true });
    },
  };
}
