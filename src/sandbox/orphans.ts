// What a worker that was killed, or was taken for dead, has left: each launch has a small file in the data folder while
// it lives. The next start ends what is named in files whose worker is gone; a run, what others left in its workspace.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endGroups } from './controlGroups.ts';
import {
  allGone,
  isReplaced,
  isRunning,
  isTaken,
  type KnownProcess,
  killTree,
  knownProcess,
  processSpace,
  unknownSpace,
} from './processes.ts';
import type { Command } from './sandbox.ts';

interface LaunchRecord {
  /** Where the numbers of the processes mean something. */
  readonly space: string;
  readonly worker: KnownProcess;
  /** Leads a group. */
  readonly leader: KnownProcess;
  /** Control groups. */
  readonly folders: readonly string[];
  /** The argv that ends it for certain; run with the environment of the service that reads it. */
  readonly end: Pick<Command, 'command' | 'args'> | null;
  /** The workspace that it has to itself; null: it shares one. */
  readonly alone: string | null;
}

interface NewLaunch {
  readonly pid: number;
  readonly folders: readonly string[];
  readonly end: Command | undefined;
  readonly alone: string | null;
}

/** The note of a launch. Neither way to be done with it throws. */
export interface LaunchNote {
  /** Nothing of it is alive. */
  forget(): void;
  /** Something of it could not be ended: it stays noted for who comes next, and that is told. */
  keep(): void;
}

export interface LaunchRecords {
  /** Throws where it cannot be noted. */
  add(launch: NewLaunch): LaunchNote;
  /** Ends what workers left that are gone. Returns how many launches that were. */
  endOrphans(): Promise<number>;
  /**
   * Ends processes that use this workspace exclusively, even if their worker is alive. Returns how many there were.
   * Throws as soon as `mayEnd` returns false.
   */
  endAlone(workspace: string, mayEnd: () => boolean): Promise<number>;
}

interface LaunchRecordsOptions {
  /** Told of what could not be ended or removed. */
  readonly onFault?: (error: Error) => void;
  /** Where this process is; only tests have another. */
  readonly space?: string;
}

const endMsMax = 10_000;
const goneMsMax = 5_000;
/** Of a record of another space, whose worker cannot be looked for. No launch is meant to live so long. */
const foreignMsMax = 7 * 24 * 60 * 60_000;
/** Of a record that is being written. */
const writingMsMax = 60 * 60_000;

const ending = '.json';
/** Records get their name when they are whole, so that no reader takes one that is being written for a broken one. */
const writingEnding = '.new';

/** Runs a command that ends something. Whether there was something to end, it does not tell. Never rejects. */
export function runEndCommand({
  command,
  args,
  env = process.env,
}: Pick<Command, 'command' | 'args'> & { readonly env?: NodeJS.ProcessEnv }): Promise<void> {
  return new Promise((resolve) => {
    try {
      const child = spawn(command, args, { env, stdio: 'ignore', timeout: endMsMax });
      child.once('error', () => resolve());
      child.once('exit', () => resolve());
    } catch {
      resolve();
    }
  });
}

function readRecord(path: string): LaunchRecord | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LaunchRecord;
  } catch {
    // It was forgotten since, or the machine stopped while it was written.
    return undefined;
  }
}

/** Nothing where it is gone. */
function ageMsOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? 0 : Date.now() - found.mtimeMs;
}

/** Whether nothing of it is alive. Without `byNumber` its processes are left: the numbers may be those of others. */
async function endOrphan({ leader, folders, end }: LaunchRecord, byNumber: boolean): Promise<boolean> {
  // Also where the leader has ended: others of its group may be left.
  const found = byNumber && !isReplaced(leader) ? killTree(leader) : [];
  const groupsGone = await endGroups(folders);
  if (end !== null) await runEndCommand(end);
  return groupsGone && (!byNumber || (await allGone([leader, ...found], goneMsMax)));
}

/** After the machine has started anew, nothing of before is alive. */
function isSameBoot(one: string, other: string): boolean {
  return one.split(' ')[0] === other.split(' ')[0];
}

export function openLaunchRecords(folder: string, options: LaunchRecordsOptions = {}): LaunchRecords {
  const { onFault = () => {}, space = processSpace() } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const worker = knownProcess(process.pid);
  const isAlive = ({ worker: other }: LaunchRecord) =>
    space === unknownSpace ? isTaken(other.pid) : isRunning(other);

  function remove(path: string): void {
    try {
      rmSync(path, { force: true });
    } catch (error) {
      onFault(error as Error);
    }
  }

  function tellLeft(): void {
    onFault(new Error('a process of an agent could not be killed; the next start tries again'));
  }

  function paths(): string[] {
    const names = readdirSync(folder);
    for (const name of names.filter((one) => one.endsWith(writingEnding)))
      if (ageMsOf(join(folder, name)) > writingMsMax) remove(join(folder, name));
    return names.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
  }

  /** Removes its record, too, unless something is left. */
  async function endNoted(path: string, record: LaunchRecord): Promise<void> {
    const byNumber = space !== unknownSpace || isAlive(record);
    if (await endOrphan(record, byNumber)) remove(path);
    else tellLeft();
  }

  return {
    add: ({ pid, folders, end, alone }) => {
      const path = join(folder, randomUUID());
      const record: LaunchRecord = {
        space,
        worker,
        leader: knownProcess(pid),
        folders,
        end: end === undefined ? null : { command: end.command, args: end.args },
        alone,
      };
      writeFileSync(path + writingEnding, JSON.stringify(record), { mode: 0o600 });
      renameSync(path + writingEnding, path + ending);
      return { forget: () => remove(path + ending), keep: tellLeft };
    },
    endOrphans: async () => {
      let count = 0;
      for (const path of paths()) {
        const record = readRecord(path);
        if (record?.space === space) {
          if (isAlive(record)) continue;
          await endNoted(path, record);
          count++;
          continue;
        }
        // In another space its numbers mean nothing here, and its worker may live.
        const mayLive = record !== undefined && isSameBoot(record.space, space);
        if (mayLive && ageMsOf(path) < foreignMsMax) continue;
        if (mayLive && record.end !== null) await runEndCommand(record.end);
        remove(path);
      }
      return count;
    },
    endAlone: async (workspace, mayEnd) => {
      let count = 0;
      for (const path of paths()) {
        const record = readRecord(path);
        if (record === undefined || record.space !== space || record.alone !== workspace) continue;
        // A process that slept past its lease must not kill the agent of the current run.
        if (!mayEnd()) throw new Error('the workspace belongs to another run');
        await endNoted(path, record);
        count++;
      }
      return count;
    },
  };
}
