// Records processes in the data folder while they run, so that those of a killed or presumed dead worker can be ended:
// at the next start, or by the next run in the same workspace.
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
  /** The pid namespace that the pids belong to. */
  readonly space: string;
  readonly worker: KnownProcess;
  /** The leader of a process group. */
  readonly leader: KnownProcess;
  /** The cgroups. */
  readonly folders: readonly string[];
  /** The command that ends it reliably; it gets the environment of the service that runs it. */
  readonly end: Pick<HostCommand, 'command' | 'args'> | null;
  /** The workspace that it uses exclusively; null if it shares one. */
  readonly alone: string | null;
}

interface NewProcess {
  readonly pid: number;
  readonly folders: readonly string[];
  readonly end: HostCommand | undefined;
  readonly alone: string | null;
}

/** The record of a process. Neither method throws. */
export interface RecordHandle {
  /** All its processes have ended. */
  remove(): void;
  /** Something could not be ended: the record stays for the next start, and that is reported. */
  keep(): void;
}

export interface ProcessRecords {
  /** Throws if the record cannot be written. */
  add(program: NewProcess): RecordHandle;
  /** Ends processes of workers that are gone. Returns how many there were. */
  endOrphans(): Promise<number>;
  /**
   * Ends processes that use this workspace exclusively, even if their worker is alive. Returns how many there were.
   * Throws as soon as `mayEnd` returns false.
   */
  endExclusive(workspace: string, mayEnd: () => boolean): Promise<number>;
}

interface ProcessRecordsOptions {
  /** Called if something could not be ended or removed. */
  readonly onFault?: (error: Error) => void;
  /** The pid namespace of this process; tests use others. */
  readonly space?: string;
}

const endMsMax = 10_000;
const goneMsMax = 5_000;
/**
 * The lifetime of a record from another pid namespace, whose worker cannot be checked. No process should run this long.
 */
const foreignMsMax = 7 * 24 * 60 * 60_000;
/** The lifetime of a record that is being written. */
const writingMsMax = 60 * 60_000;

const ending = '.json';
/** Records get their name when they are complete, so that no reader finds half of one. */
const writingEnding = '.new';

/** Runs a command that ends something. It does not report whether there was something to end. Never rejects. */
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
    // It was removed meanwhile, or the machine stopped while it was written.
    return undefined;
  }
}

/** Returns 0 if it does not exist. */
function ageMsOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? 0 : Date.now() - found.mtimeMs;
}

/**
 * Returns whether all its processes have ended. Without `byNumber`, pids are not used, because they may belong to
 * others.
 */
async function endRecord({ leader, folders, end }: ProcessRecord, byNumber: boolean): Promise<boolean> {
  // Also if the leader has ended, because others of its group may be left.
  const found = byNumber && !isReplaced(leader) ? killTree(leader) : [];
  const groupsGone = await endCgroups(folders);
  if (end !== null) await runEndCommand(end);
  return groupsGone && (!byNumber || (await allGone([leader, ...found], goneMsMax)));
}

/** After a reboot, no earlier process is alive. */
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

  /** Also removes the record, unless something is left. */
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
        // The pids of another namespace mean nothing here, and its worker may be alive.
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
