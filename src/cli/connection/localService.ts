// The service that an editor uses without being told: it runs on this machine, and is started if it does not run yet. It
// is no child of the editor, so that conversations go on when the editor is closed.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createParley, type Fetch, type Parley, ParleyError } from '../../client/parley.ts';
import { type Environment, readConfig } from '../../config.ts';
import { programRoot } from '../../process/program.ts';
import { fetchFor, findKey } from './connection.ts';
import { findService } from './runningService.ts';

const startMsMax = 30_000;
const pollMs = 50;

/** The data folder of the clone if it was used before, otherwise one of the user. The editor's own folder never counts. */
export function editorDataDir(env: Environment): string {
  if (env['PARLEY_DATA_DIR']) return readConfig(env).dataDir;
  const ofProgram = join(programRoot, 'data');
  if (existsSync(ofProgram)) return ofProgram;
  return join(env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share'), 'parley');
}

/** Starts a service and returns a function that says whether it has ended. */
function launch(dataDir: string, env: Environment): () => boolean {
  const log = openSync(join(dataDir, 'service.log'), 'a', 0o600);
  const [program = ''] = process.argv.slice(1);
  const child = spawn(process.execPath, [...process.execArgv, program, 'serve'], {
    cwd: dirname(dataDir),
    env: { ...env, PARLEY_DATA_DIR: dataDir },
    detached: true,
    stdio: ['ignore', log, log],
  });
  child.unref();
  let ended = false;
  for (const event of ['exit', 'error']) child.on(event, () => (ended = true));
  return () => ended;
}

async function waitFor(dataDir: string, hasEnded: () => boolean): Promise<string | undefined> {
  for (const end = Date.now() + startMsMax; Date.now() < end && !hasEnded(); await sleep(pollMs)) {
    const url = findService(dataDir);
    if (url !== undefined) return url;
  }
  return findService(dataDir);
}

async function start(dataDir: string, env: Environment): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if ((await waitFor(dataDir, launch(dataDir, env))) !== undefined) return;
  // Another program may use the usual port.
  if (!env['PORT'] && (await waitFor(dataDir, launch(dataDir, { ...env, PORT: '0' }))) !== undefined) return;
  throw new ParleyError('network', `The service could not be started. See ${join(dataDir, 'service.log')}.`);
}

export interface LocalService {
  readonly parley: Parley;
  /** Starts the service if it does not run. */
  wake(): Promise<void>;
}

export async function openLocalService(env: Environment = process.env): Promise<LocalService> {
  const dataDir = editorDataDir(env);
  const own = { ...env, PARLEY_DATA_DIR: dataDir };
  let starting: Promise<void> | undefined;

  async function wake(): Promise<void> {
    if (findService(dataDir) !== undefined) return;
    starting ??= start(dataDir, own).finally(() => (starting = undefined));
    await starting;
  }

  await wake();
  const address = { url: findService(dataDir) ?? '', isLocal: true, isTrusted: true };
  const plain: Fetch = fetchFor(address, env) ?? ((url, init) => fetch(url, init));
  /** A service that was started again may have another port. */
  const findAndFetch: Fetch = async (url, init) => {
    const { pathname, search } = new URL(url);
    const origin = findService(dataDir);
    if (origin === undefined) throw new Error('The service does not run.');
    return plain(`${origin}${pathname}${search}`, init);
  };
  return {
    parley: createParley({ url: address.url, key: findKey(address, own), fetch: findAndFetch }),
    wake,
  };
}
