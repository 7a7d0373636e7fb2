// Finds npm and runs it, without a shell and without the secrets of the service.
import { spawn } from 'node:child_process';
import { accessSync, constants, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { RefusalError } from '../../errors.ts';
import { kib } from '../../validation/schema.ts';

const installMsMax = 30 * 60_000;
const errorCharsMax = 64 * kib;
const errorShownMax = 1_000;

/** Secrets and options of the service, which install scripts must not see. */
const ownVariable = /^(PARLEY_|PG[A-Z]+$|SESSION_API_KEY$|DATABASE_URL$)/;

function isFile(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** npm is run by the Node of Parley, because the one in PATH may be too old for the packages. */
function commandOf(path: string): string[] {
  const script = join(dirname(realpathSync(path)), 'npm-cli.js');
  return isFile(script) ? [process.execPath, script] : [path];
}

/** The npm next to the Node of Parley, or the first one in PATH. Throws RefusalError if there is none. */
export function findNpm(path = process.env['PATH'] ?? '', nodePath = process.execPath): string[] {
  const beside = join(dirname(nodePath), '../lib/node_modules/npm/bin/npm-cli.js');
  const inPath = path
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, 'npm'));
  const found = [beside, ...inPath].find(isFile);
  if (found !== undefined) return commandOf(found);
  throw new RefusalError(
    'npm is not installed. It comes with Node (https://nodejs.org); on Debian and Ubuntu: apt install npm. You can also install the agent elsewhere and add its folder to PATH.',
  );
}

function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !ownVariable.test(name));
  const PATH = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  return { ...Object.fromEntries(kept), PATH };
}

/** Users of services often have no home, in which npm would keep its cache. */
function cacheArgs(folder: string): string[] {
  try {
    accessSync(homedir(), constants.W_OK);
    return [];
  } catch {
    return [`--cache=${join(folder, '.npm')}`];
  }
}

/** The lines in which npm explains a failure. */
function errorLines(output: string): string {
  const lines = output.split('\n').flatMap((line) => /^npm (?:error|ERR!) (.+)/.exec(line)?.[1] ?? []);
  return lines.join('\n').slice(0, errorShownMax) || output.trim().slice(-errorShownMax);
}

export interface NpmInstall {
  readonly npm: readonly string[];
  /** The folder that gets `bin` and `lib`. */
  readonly folder: string;
  /** `name@version`. */
  readonly packages: readonly string[];
  readonly runScripts: boolean;
  readonly signal: AbortSignal;
  /** Called with the number of downloads so far. */
  onDownload(count: number): void;
}

/** Installs packages. npm compares every download with the checksum in the registry. Throws RefusalError. */
export async function npmInstall(wanted: NpmInstall): Promise<void> {
  const { npm, folder, packages, runScripts, signal, onDownload } = wanted;
  const [command = '', ...first] = npm;
  const args = [
    ...first,
    ...['install', '--global', `--prefix=${folder}`, '--no-audit', '--no-fund', '--no-update-notifier'],
    // Each download is a line of the output, which is how progress is counted.
    ...['--loglevel=http', '--no-progress', runScripts ? '--ignore-scripts=false' : '--ignore-scripts'],
    ...cacheArgs(folder),
    ...packages,
  ];
  // As a group of its own, it ends together with the scripts that it runs.
  const child = spawn(command, args, {
    cwd: folder,
    env: environment(),
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let [output, downloads] = ['', 0];
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-errorCharsMax);
    downloads += text.split('npm http fetch GET 200').length - 1;
    onDownload(downloads);
  });
  const end = () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL');
  };
  let isOverdue = false;
  const timer = setTimeout(() => {
    isOverdue = true;
    end();
  }, installMsMax);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (signal.aborted) throw new RefusalError('The installation was interrupted. Nothing was changed.');
    if (isOverdue) throw new RefusalError('npm did not finish within 30 minutes. Nothing was changed.');
    if (code !== 0)
      throw new RefusalError(`npm could not install ${packages.join(' and ')}:\n${errorLines(output)}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
