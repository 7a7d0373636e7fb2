// Limits memory and processes of a whole sandbox, and kills all of it, with cgroups.
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type CgroupParent, type CgroupSources, findCgroupParents } from './cgroupParents.ts';
import { limitsOf, type SandboxLimits } from './limits.ts';
import type { SandboxKind, SandboxSpec, WrappedCommand } from './sandbox.ts';

/** The cgroup of one process and its descendants. */
export interface ProcessCgroup {
  /** The cgroups of the sandbox that contain it. They must be removed if the service dies. */
  readonly sandboxFolders: readonly string[];
  /** Wraps a command so that it starts in the cgroup. */
  wrap(wrapped: WrappedCommand): WrappedCommand;
  /** Kills all that is in it, and removes it. False: something could not be killed in time. */
  end(): Promise<boolean>;
}

interface SandboxCgroup {
  readonly folders: readonly string[];
  createForProcess(): ProcessCgroup;
  /** The processes in it. */
  pids(): number[];
  /** Kills all that is in it, and removes it. False: something could not be killed in time. */
  end(): Promise<boolean>;
}

export interface Cgroups {
  /** Which limits are enforced. If none is, a sandbox has no cgroup. */
  readonly holds: { readonly memory: boolean; readonly processes: boolean };
  /** Throws if the system refuses. Nothing is left then. */
  create(spec: Pick<SandboxSpec, 'name' | 'resourceFactor'>): SandboxCgroup;
}

const groupPrefix = 'parley-';
const killAgainMs = 5;
/** For a cgroup with all its subgroups. Processes that wait for a lost disk cannot be killed. */
const endMsMax = 5_000;

/** The files that set the limits, by version. */
function limitFiles(
  { version, controllers }: CgroupParent,
  limits: SandboxLimits,
): [file: string, value: number][] {
  const files: [string, number][] = [];
  if (controllers.includes('pids')) files.push(['pids.max', limits.processesMax]);
  if (controllers.includes('memory') && version === 1)
    files.push(['memory.limit_in_bytes', limits.memoryBytesMax]);
  if (controllers.includes('memory') && version === 2) files.push(['memory.max', limits.memoryBytesMax]);
  return files;
}

/** The file does not exist without swap, or on kernels that do not count it. */
function limitSwap(folder: string, { version }: CgroupParent, { memoryBytesMax }: SandboxLimits): void {
  const [file, value] =
    version === 1 ? ['memory.memsw.limit_in_bytes', memoryBytesMax] : ['memory.swap.max', 0];
  try {
    writeFileSync(join(folder, String(file)), String(value), { flag: 'r+' });
  } catch {
    // The memory limit works without it.
  }
}

function processIdsIn(folder: string): number[] {
  return readFileSync(join(folder, 'cgroup.procs'), 'utf8').trim().split('\n').filter(Boolean).map(Number);
}

function writeIfThere(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'r+' });
  } catch {
    // The file does not exist in this version.
  }
}

/** A process limit of 0 first, so that nothing can be started after the kill. */
function killOnce(folder: string): void {
  writeIfThere(join(folder, 'pids.max'), '0');
  writeIfThere(join(folder, 'cgroup.kill'), '1');
  for (const pid of processIdsIn(folder)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  }
}

function subgroups(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name));
}

/** The processes in a group and in those below it; none if it is gone. */
function allProcessIdsIn(folder: string): number[] {
  try {
    return [...processIdsIn(folder), ...subgroups(folder).flatMap(allProcessIdsIn)];
  } catch {
    return [];
  }
}

async function endUntil(folder: string, deadline: number): Promise<boolean> {
  for (;;) {
    try {
      killOnce(folder);
      await Promise.all(subgroups(folder).map((one) => endUntil(one, deadline)));
      rmdirSync(folder);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
      if (performance.now() > deadline) return false;
      await wait(killAgainMs);
    }
  }
}

/** Kills all processes in a cgroup and its subgroups, and removes them. Returns false if something cannot be killed. */
export function endCgroup(folder: string, withinMs = endMsMax): Promise<boolean> {
  return endUntil(folder, performance.now() + withinMs);
}

export async function endCgroups(folders: readonly string[]): Promise<boolean> {
  const ended = await Promise.all(folders.map((folder) => endCgroup(folder)));
  return ended.every((gone) => gone);
}

const joinScript = `while [ "$1" != -- ]; do
  echo 0 >"$1/cgroup.procs" || exit 126
  shift
done
shift
exec "$@"`;

function createProcessCgroup(sandboxFolders: readonly string[], name: string): ProcessCgroup {
  const folders = sandboxFolders.map((folder) => join(folder, name));
  for (const folder of folders) mkdirSync(folder);
  return {
    sandboxFolders,
    wrap: ({ command, args, ...rest }) => ({
      ...rest,
      command: '/bin/sh',
      args: ['-c', joinScript, 'parley', ...folders, '--', command, ...args],
    }),
    end: () => endCgroups(folders),
  };
}

function createLimitedCgroup(folder: string, place: CgroupParent, limits: SandboxLimits): void {
  mkdirSync(folder);
  try {
    for (const [file, value] of limitFiles(place, limits)) writeFileSync(join(folder, file), String(value));
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  if (place.controllers.includes('memory')) limitSwap(folder, place, limits);
}

/** Whether a cgroup can be created there. It is removed again. */
function works(place: CgroupParent): boolean {
  const folder = join(place.folder, `${groupPrefix}trial-${process.pid}`);
  try {
    createLimitedCgroup(folder, place, limitsOf({ resourceFactor: 1 }));
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

function currentSources(): CgroupSources | undefined {
  try {
    return {
      own: readFileSync('/proc/self/cgroup', 'utf8'),
      mounts: readFileSync('/proc/self/mountinfo', 'utf8'),
      uid: process.getuid?.() ?? -1,
    };
  } catch {
    return undefined;
  }
}

/**
 * Whether the limits on memory and processes are enforced in a kind of sandbox. In bubblewrap the process limit is also
 * a user limit, which the kernel enforces unless the service runs as root.
 */
export function limitsHold(
  kind: SandboxKind,
  { holds }: Cgroups,
  uid = process.getuid?.() ?? 0,
): Cgroups['holds'] {
  if (kind === 'docker' || kind === 'kubernetes') return { memory: true, processes: true };
  if (kind === 'bubblewrap') return { ...holds, processes: holds.processes || uid !== 0 };
  return holds;
}

/** For operators: which limits do not hold; undefined if all do. */
export function findMissingLimits({ memory, processes }: Cgroups['holds']): string | undefined {
  if (memory && processes) return undefined;
  const missing = memory ? 'number of processes' : processes ? 'memory' : 'memory and number of processes';
  return `Nothing limits the ${missing} of agents: one of them can make this machine unusable.`;
}

export const limitsRemedy = 'Give the service a delegated cgroup; see docs/sandbox.md.';

/** Opens the cgroups that can be used here. */
export function openCgroups(sources = currentSources()): Cgroups {
  const places = sources === undefined ? [] : findCgroupParents(sources).filter(works);
  const can = (name: 'memory' | 'pids') => places.some(({ controllers }) => controllers.includes(name));
  return {
    holds: { memory: can('memory'), processes: can('pids') },
    create: (spec) => {
      const limits = limitsOf(spec);
      const made: string[] = [];
      try {
        for (const place of places) {
          const folder = join(place.folder, groupPrefix + spec.name);
          createLimitedCgroup(folder, place, limits);
          made.push(folder);
        }
      } catch (error) {
        for (const folder of made) rmdirSync(folder);
        throw error;
      }
      let count = 0;
      return {
        folders: made,
        createForProcess: () => {
          count++;
          return createProcessCgroup(made, String(count));
        },
        pids: () => made.flatMap(allProcessIdsIn),
        end: () => endCgroups(made),
      };
    },
  };
}
