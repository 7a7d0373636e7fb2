// Makes backups at intervals and keeps the newest. All processes with the same database look whether one is due, and the
// one that claims it makes it.
import { accessSync, constants, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { makeFolder } from '../db/open.ts';
import type { Database } from '../db/transaction.ts';
import { RefusalError } from '../errors.ts';
import { type Clock, systemClock } from '../process/clock.ts';
import { programFile } from '../process/program.ts';
import { repeatable } from '../process/repeat.ts';
import type { BackupPlaces } from './create.ts';
import { fileOfPartial } from './partialFiles.ts';
import { readPassphrase } from './passphrase.ts';
import { claimBackup, finishBackup, renewBackup } from './store.ts';
import type { ThreadAnswer, ThreadBackup } from './thread.ts';

const hourMs = 60 * 60_000;

export interface ScheduleTimes {
  /** How often to look whether a backup is due. */
  readonly lookMs: number;
  /** From the start of one backup to the start of the next. */
  readonly everyMs: number;
  /** How long to wait after one that failed. */
  readonly retryMs: number;
  /** After this time without a renewal, another process may make it. */
  readonly leaseMs: number;
  readonly renewMs: number;
}

const usualTimes: Omit<ScheduleTimes, 'everyMs'> = {
  lookMs: 60_000,
  retryMs: hourMs / 2,
  leaseMs: 5 * 60_000,
  renewMs: 60_000,
};

type ScheduleConfig = BackupPlaces &
  Pick<
    Config,
    | 'backupDir'
    | 'backupHours'
    | 'backupKeep'
    | 'backupWorkspaces'
    | 'backupKeys'
    | 'backupPassphrase'
    | 'backupPassphraseFile'
  >;

interface ScheduleOptions {
  readonly database: Database;
  readonly config: ScheduleConfig;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Identifies this process. */
  readonly owner: string;
  readonly onEnd: (outcome: 'done' | 'failed') => void;
  readonly onBackgroundError: (error: Error) => void;
  readonly times?: Partial<ScheduleTimes> | undefined;
  readonly clock?: Clock;
}

/** `parley-20261117T020000Z.tar.zst`, and with `.age` if it is encrypted: they sort by time. */
const scheduledName = /^parley-\d{8}T\d{6}Z\.tar\.zst(\.age)?$/;

function nameAt(nowMs: number, isEncrypted: boolean): string {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `parley-${time}.tar.zst${isEncrypted ? '.age' : ''}`;
}

/** Creates the folder. Throws a RefusalError if it cannot be written to, so that the service does not start. */
function ensureBackupDir(folder: string): void {
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new RefusalError(
      `Backups cannot be written to ${folder} (PARLEY_BACKUP_DIR): ${(error as NodeJS.ErrnoException).code}.`,
    );
  }
}

/** An unencrypted backup with the keys gives all secrets to its reader, and nobody checks where scheduled ones end up. */
function refuseOpenKeys(config: ScheduleConfig): void {
  if (config.backupKeys && readPassphrase(config) === undefined)
    throw new RefusalError(
      'Scheduled backups with keys need a passphrase (PARLEY_BACKUP_KEYS=1): set PARLEY_BACKUP_PASSPHRASE_FILE or PARLEY_BACKUP_PASSPHRASE, or PARLEY_BACKUP_KEYS=0.',
    );
}

function remove(folder: string, names: readonly string[]): void {
  for (const name of names) rmSync(join(folder, name), { force: true });
}

/** Only the process that has the claim writes here, so every incomplete file was abandoned. */
function removePartial(folder: string): void {
  remove(
    folder,
    readdirSync(folder).filter((name) => scheduledName.test(fileOfPartial(name) ?? '')),
  );
}

function removeOld(folder: string, keep: number): void {
  const names = readdirSync(folder)
    .filter((name) => scheduledName.test(name))
    .sort();
  remove(folder, names.slice(0, Math.max(0, names.length - keep)));
}

function runThread(input: ThreadBackup, signal: AbortSignal): Promise<ThreadAnswer> {
  const thread = new Worker(programFile('backups/thread.ts'), { workerData: input });
  const stop = () => void thread.terminate();
  signal.addEventListener('abort', stop, { once: true });
  return new Promise<ThreadAnswer>((resolve) => {
    thread.once('message', resolve);
    thread.once('error', (error) => resolve({ error: (error as Error).message }));
    thread.once('exit', () => resolve({ error: 'it was interrupted' }));
  }).finally(() => signal.removeEventListener('abort', stop));
}

/** Undefined if no backups are configured. */
export function startBackupSchedule(options: ScheduleOptions): { close(): Promise<void> } | undefined {
  const { database, config, logger, owner, onEnd, onBackgroundError, clock = systemClock } = options;
  const { backupDir: folder } = config;
  if (folder === undefined) return undefined;
  const times = { ...usualTimes, everyMs: config.backupHours * hourMs, ...options.times };
  const { leaseMs } = times;
  const stopping = new AbortController();
  ensureBackupDir(folder);
  readPassphrase(config);
  refuseOpenKeys(config);

  async function makeBackup(file: string, signal: AbortSignal): Promise<ThreadAnswer> {
    const { dataDir, databaseUrl, workspaceMb, workspaceFiles, snapshots } = config;
    return runThread(
      {
        file,
        places: {
          ...{ dataDir, databaseUrl, workspaceMb, workspaceFiles, snapshots },
          secretKeys: config.secretKeys.map((key) => key.toString('hex')),
        },
        workspaces: config.backupWorkspaces,
        snapshots: false,
        keys: config.backupKeys,
        passphrase: readPassphrase(config),
      },
      signal,
    );
  }

  /** Keeps the claim. Aborts if another process has taken over, which then writes to the folder. */
  function keepClaim(lost: AbortController) {
    return clock.every(times.renewMs, () => {
      database.run(renewBackup, { owner, leaseMs }).then((isOurs) => {
        if (!isOurs) lost.abort();
      }, onBackgroundError);
    });
  }

  async function attempt(dir: string): Promise<ThreadAnswer> {
    const lost = new AbortController();
    const renewal = keepClaim(lost);
    try {
      removePartial(dir);
      const file = join(dir, nameAt(clock.now(), readPassphrase(config) !== undefined));
      return await makeBackup(file, AbortSignal.any([stopping.signal, lost.signal]));
    } catch (error) {
      return { error: (error as Error).message };
    } finally {
      renewal.stop();
    }
  }

  async function look(dir: string): Promise<void> {
    const { everyMs, retryMs } = times;
    if (stopping.signal.aborted || !(await database.run(claimBackup, { owner, everyMs, retryMs, leaseMs })))
      return;
    logger.info({ folder: dir }, 'backup started');
    const answer = await attempt(dir);
    const outcome = 'bytes' in answer ? 'done' : stopping.signal.aborted ? 'interrupted' : 'failed';
    const bytes = 'bytes' in answer ? answer.bytes : 0;
    const isOurs = await database.run(finishBackup, { owner, outcome, bytes });
    if ('error' in answer) {
      // If another process has taken over, the incomplete file may be its own.
      if (isOurs) removePartial(dir);
      if (outcome === 'interrupted') return;
      onEnd('failed');
      logger.error({ folder: dir, reason: answer.error }, 'backup failed; the older ones are kept');
      return;
    }
    removeOld(dir, config.backupKeep);
    onEnd('done');
    logger.info({ folder: dir, ...answer }, 'backup complete');
  }

  const work = repeatable(() => look(folder), onBackgroundError);
  const timer = clock.every(times.lookMs, () => void work.run());
  void work.run();
  return {
    close: async () => {
      timer.stop();
      stopping.abort();
      await work.ended();
    },
  };
}
