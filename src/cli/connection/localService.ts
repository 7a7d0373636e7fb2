// Starts the service on this machine for an editor. The service is not a child of the editor, so that conversations go on
// when the editor is closed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ParleyError } from '../../client/parley.ts';
import type { Environment } from '../../config.ts';
import { isDataDirLocked, lockServiceStart } from '../../db/folderLocks.ts';
import { isAlive } from '../../process/alive.ts';
import { replaceFile } from '../../process/durableFiles.ts';
import { findService } from './runningService.ts';

const startMsMax = 30_000;
const pollMs = 50;

/** Holds the process id of the service that an editor has started. */
const editorPidFile = (dataDir: string) => join(dataDir, 'service.editor');

/** Whether the service was started by an editor, and not by somebody who may have given it other options. */
export function isEditorService(dataDir: string, pid: number): boolean {
  try {
    return Number(readFileSync(editorPidFile(dataDir), 'utf8')) === pid;
  } catch {
    return false;
  }
}

/**
 * Starts a service and returns a function that says whether it has ended. The shell in between ends at once, so that the
 * service is no descendant of the editor: some editors end all of theirs.
 */
async function launch(dataDir: string, env: Environment): Promise<() => boolean> {
  const log = openSync(join(dataDir, 'service.log'), 'a', 0o600);
  const [program = ''] = process.argv.slice(1);
  const command = [process.execPath, ...process.execArgv, program, 'serve'];
  const shell = spawn('/bin/sh', ['-c', '"$@" >&2 & echo $!', 'sh', ...command], {
    cwd: dirname(dataDir),
    env: { ...env, PARLEY_DATA_DIR: dataDir },
    detached: true,
    stdio: ['ignore', 'pipe', log],
  });
  closeSync(log);
  const [pid] = await Promise.all([text(shell.stdout as Readable), once(shell, 'exit')]);
  replaceFile(editorPidFile(dataDir), pid);
  return () => !isAlive(Number(pid));
}

/** Returns false if the time is over, or there is no service to wait for any more. */
async function waitForService(dataDir: string, endMs: number, isOver: () => boolean): Promise<boolean> {
  for (; Date.now() < endMs; await sleep(pollMs)) {
    const over = isOver();
    if (findService(dataDir) !== undefined) return true;
    if (over) return false;
  }
  return false;
}

/** Returns undefined if another program has started the service meanwhile. */
async function lockStart(dataDir: string, endMs: number): Promise<(() => void) | undefined> {
  for (;;) {
    try {
      return lockServiceStart(dataDir);
    } catch (error) {
      if (findService(dataDir) !== undefined) return undefined;
      if (Date.now() >= endMs) throw error;
      await sleep(pollMs);
    }
  }
}

/** Starts a service for this data folder, unless one runs. Throws if that is not possible. */
export async function startLocalService(dataDir: string, env: Environment): Promise<void> {
  const endMs = Date.now() + startMsMax;
  const log = join(dataDir, 'service.log');
  let unlock: (() => void) | undefined;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    unlock = await lockStart(dataDir, endMs);
    if (findService(dataDir) !== undefined) return;
    if (await waitForService(dataDir, endMs, await launch(dataDir, env))) return;
    // Another program may use the default port.
    if (!env['PORT'] && (await waitForService(dataDir, endMs, await launch(dataDir, { ...env, PORT: '0' }))))
      return;
    // Somebody else may have started a service that does not listen yet.
    if (await waitForService(dataDir, endMs, () => !isDataDirLocked(dataDir))) return;
  } catch (error) {
    throw new ParleyError('unexpected', `The service could not be started: ${(error as Error).message}`);
  } finally {
    unlock?.();
  }
  // Requests with this error are not retried, so that the editor gets it.
  throw new ParleyError('unexpected', `The service could not be started. Its log is ${log}.`);
}
