// What a worker that was killed, or was taken for dead, has left: each launch has a small file in the data folder while
// it lives. The next start ends what is named in files whose worker is gone; a run, what others left in its workspace.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endGroup } from './controlGroups.ts';
import {
  allGone,
  isReplaced,
  isRunning,
  type KnownProcess,
  killGroup,
  knownProcess,
  processSpace,
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

export interface LaunchRecords {
  /** Notes a launch; the answer forgets it. */
  add(launch: NewLaunch): () => void;
  /** Ends what workers left that are gone. Returns how many launches that were. */
  endOrphans(): Promise<number>;
  /** Ends what has this workspace to itself, whether its worker is gone or not. Returns how many launches that were. */
  endAlone(workspace: string): Promise<number>;
}

const endMsMax = 10_000;
const goneMsMax = 5_000;

/** Runs a command that ends something. Whether there was something to end, it does not tell. */
export function runEnd({ command, args, env }: Omit<Command, 'env'> & Partial<Command>): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env: env ?? process.env, stdio: 'ignore', timeout: endMsMax });
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
}

function readRecord(path: string): LaunchRecord | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LaunchRecord;
  } catch {
    // It was forgotten since, or its writer was killed while it wrote.
    return undefined;
  }
}

async function endOrphan({ leader, folders, end }: LaunchRecord): Promise<void> {
  // Also where the leader has ended: others of its group may be left.
  if (!isReplaced(leader)) killGroup(leader.pid);
  for (const folder of folders) await endGroup(folder);
  if (end !== null) await runEnd(end);
  await allGone([leader], goneMsMax);
}

export function openLaunchRecords(folder: string): LaunchRecords {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const space = processSpace();
  const worker = knownProcess(process.pid);

  return {
    add: ({ pid, folders, end, alone }) => {
      const path = join(folder, `${randomUUID()}.json`);
      const record: LaunchRecord = {
        space,
        worker,
        leader: knownProcess(pid),
        folders,
        end: end === undefined ? null : { command: end.command, args: end.args },
        alone,
      };
      writeFileSync(path, JSON.stringify(record), { mode: 0o600 });
      return () => rmSync(path, { force: true });
    },
    endOrphans: async () => {
      let count = 0;
      for (const name of readdirSync(folder)) {
        const path = join(folder, name);
        const record = readRecord(path);
        // In another space its numbers mean nothing here, and its worker may live.
        if (record !== undefined && record.space !== space && isSameBoot(record.space, space)) continue;
        if (record?.space === space && isRunning(record.worker)) continue;
        if (record?.space === space) {
          await endOrphan(record);
          count++;
        }
        rmSync(path, { force: true });
      }
      return count;
    },
    endAlone: async (workspace) => {
      let count = 0;
      for (const name of readdirSync(folder)) {
        const path = join(folder, name);
        const record = readRecord(path);
        if (record === undefined || record.space !== space || record.alone !== workspace) continue;
        await endOrphan(record);
        rmSync(path, { force: true });
        count++;
      }
      return count;
    },
  };
}

/** After the machine has started anew, nothing of before is alive. */
function isSameBoot(one: string, other: string): boolean {
  return one.split(' ')[0] === other.split(' ')[0];
}
