// What a worker that was killed, or was taken for dead, has left: each process has a small file in the data folder while
// it lives. The next start ends what is named in files whose worker is gone; a run, what others left in its workspace.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endCgroups } from './cgroups.ts';
import {
  allGone,
  isPidInUse,
  isReplaced,
  isRunning,
  type KnownProcess,
  killTree,
  knownProcess,
  processSpace,
  unknownSpace,
} from './processes.ts';
import type { HostCommand } from './sandbox.ts';

interface ProcessRecord {
  /** Where the numbers of the processes mean something. */
  readonly space: string;
  readonly worker: KnownProcess;
  /** Leads a group. */
  readonly leader: KnownProcess;
  /** Control groups. */
  readonly folders: readonly string[];
  /** The argv that ends it for certain; run with the environment of the service that reads it. */
  readonly end: Pick<HostCommand, 'command' | 'args'> | null;
  /** The workspace that it has to itself; null: it shares one. */
  readonly alone: string | null;
}

interface NewProcess {
  readonly pid: number;
  readonly folders: readonly string[];
  readonly end: HostCommand | undefined;
  readonly alone: string | null;
}

/** The note of a process. Neither way to be done with it throws. */
export interface RecordHandle {
  /** Nothing of it is alive. */
  remove(): void;
  /** Something of it could not be ended: it stays noted for who comes next, and that is told. */
  keep(): void;
}

export interface ProcessRecords {
  /** Throws where it cannot be noted. */
  add(program: NewProcess): RecordHandle;
  /** Ends what workers left that are gone. Returns how many processes that were. */
  endOrphans(): Promise<number>;
  /**
   * Ends processes that use this workspace exclusively, even if their worker is alive. Returns how many there were.
   * Throws as soon as `mayEnd` returns false.
   */
  endExclusive(workspace: string, mayEnd: () => boolean): Promise<number>;
}

interface ProcessRecordsOptions {
  /** Told of what could not be ended or removed. */
  readonly onFault?: (error: Error) => void;
  /** Where this process is; only tests have another. */
  readonly space?: string;
}

const endMsMax = 10_000;
const goneMsMax = 5_000;
/** Of a record of another space, whose worker cannot be looked for. No process is meant to live so long. */
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
}: Pick<HostCommand, 'command' | 'args'> & { readonly env?: NodeJS.ProcessEnv }): Promise<void> {
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

function readRecord(path: string): ProcessRecord | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessRecord;
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
async function endRecord({ leader, folders, end }: ProcessRecord, byNumber: boolean): Promise<boolean> {
  // Also where the leader has ended: others of its group may be left.
  const found = byNumber && !isReplaced(leader) ? killTree(leader) : [];
  const groupsGone = await endCgroups(folders);
  if (end !== null) await runEndCommand(end);
  return groupsGone && (!byNumber || (await allGone([leader, ...found], goneMsMax)));
}

/** After the machine has started anew, nothing of before is alive. */
function isSameBoot(one: string, other: string): boolean {
  return one.split(' ')[0] === other.split(' ')[0];
}

export function openProcessRecords(folder: string, options: ProcessRecordsOptions = {}): ProcessRecords {
  const { onFault = () => {}, space = processSpace() } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const worker = knownProcess(process.pid);
  const isAlive = ({ worker: other }: ProcessRecord) =>
    space === unknownSpace ? isPidInUse(other.pid) : isRunning(other);

  function remove(path: string): void {
    try {
      rmSync(path, { force: true });
    } catch (error) {
      onFault(error as Error);
    }
  }

  function reportLeft(): void {
    onFault(new Error('a process of an agent could not be killed; the next start tries again'));
  }

  function paths(): string[] {
    const names = readdirSync(folder);
    for (const name of names.filter((one) => one.endsWith(writingEnding)))
      if (ageMsOf(join(folder, name)) > writingMsMax) remove(join(folder, name));
    return names.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
  }

  /** Removes its record, too, unless something is left. */
  async function endRecorded(path: string, record: ProcessRecord): Promise<void> {
    const byNumber = space !== unknownSpace || isAlive(record);
    if (await endRecord(record, byNumber)) remove(path);
    else reportLeft();
  }

  return {
    add: ({ pid, folders, end, alone }) => {
      const path = join(folder, randomUUID());
      const record: ProcessRecord = {
        space,
        worker,
        leader: knownProcess(pid),
        folders,
        end: end === undefined ? null : { command: end.command, args: end.args },
        alone,
      };
      writeFileSync(path + writingEnding, JSON.stringify(record), { mode: 0o600 });
      renameSync(path + writingEnding, path + ending);
      return { remove: () => remove(path + ending), keep: reportLeft };
    },
    endOrphans: async () => {
      let count = 0;
      for (const path of paths()) {
        const record = readRecord(path);
        if (record?.space === space) {
          if (isAlive(record)) continue;
          await endRecorded(path, record);
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
    endExclusive: async (workspace, mayEnd) => {
      let count = 0;
      for (const path of paths()) {
        const record = readRecord(path);
        if (record === undefined || record.space !== space || record.alone !== workspace) continue;
        // A process that slept past its lease must not kill the agent of the current run.
        if (!mayEnd()) throw new Error('the workspace belongs to another run');
        await endRecorded(path, record);
        count++;
      }
      return count;
    },
  };
}
