// A process in a sandbox, from its first process on the host to the end of all its descendants.
import type { ChildProcess } from 'node:child_process';
import { Server } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import type { Bridge } from '../bridge/bridge.ts';
import type { ProcessCgroup } from './cgroups.ts';
import { oomScoreAdjustment } from './limits.ts';
import {
  allGone,
  childrenOf,
  descendantsOf,
  type KnownProcess,
  killGroup,
  killTree,
  knownProcess,
} from './processes.ts';
import { type ProcessRecords, type RecordHandle, runEndCommand } from './processRecords.ts';
import type { ProcessEnd, SandboxProcess, WrappedCommand } from './sandbox.ts';
import { startWrapped } from './startWrapped.ts';

interface StartOptions {
  readonly wrapped: WrappedCommand;
  readonly cgroup: ProcessCgroup | undefined;
  readonly records: ProcessRecords | undefined;
  /** The workspace that it uses exclusively; null if it shares one. */
  readonly exclusiveWorkspace: string | null;
  /** Takes the listener of the program `inside.ts`. */
  readonly handover: Bridge | undefined;
}

/** The exit code of a program that could not be started, as in shells. */
export const couldNotStartCode = 127;
const goneMsMax = 5_000;
/**
 * How long a program may take to end its children itself, if nothing else does so reliably. The built-in agent does.
 */
const endGraceMs = 300;
/** Node starts in a fraction of a second, but the machine may be busy. */
const handoverMsMax = 30_000;

/**
 * Waits for the listener of the program `inside.ts`, which ends once it is answered. The channel is closed then,
 * because a program inside must not find it. Returns a function that closes the listener, which would keep the network
 * namespace alive. A process that sends anything else, or nothing in time, is killed.
 */
function takeListener(child: ChildProcess, bridge: Bridge): Promise<() => void> {
  return new Promise((resolve) => {
    const nothing = () => {
      clearTimeout(timer);
      resolve(() => {});
    };
    const refuse = () => {
      if (child.connected) child.disconnect();
      if (child.pid !== undefined) killGroup(child.pid);
      nothing();
    };
    const timer = setTimeout(refuse, handoverMsMax);
    child.once('message', (_, listener) => {
      if (!(listener instanceof Server)) return refuse();
      clearTimeout(timer);
      const release = bridge.take(listener);
      child.send('go', () => {
        if (child.connected) child.disconnect();
        resolve(release);
      });
    });
    child.once('exit', nothing);
    child.once('error', nothing);
  });
}

function endOf(child: ChildProcess): Promise<ProcessEnd> {
  return new Promise((resolve) => {
    // Listens for every error, because an unhandled one would end the service.
    child.on('error', () => resolve({ code: couldNotStartCode, signal: null }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

// Raising it needs no privilege. It is raised outside, because /proc is read-only inside: nothing can lower it there.
const killedFirstScript = '{ echo "$1" >/proc/self/oom_score_adj; } 2>/dev/null || :\nshift\nexec "$@"';

/** Writes a command so that the kernel kills it, and whatever it starts, before the service if memory runs out. */
function killedFirst({ command, args, ...rest }: WrappedCommand): WrappedCommand {
  const shellArgs = ['-c', killedFirstScript, 'parley', String(oomScoreAdjustment), command, ...args];
  return { ...rest, command: '/bin/sh', args: shellArgs };
}

function spawnFirst({ wrapped, cgroup, handover }: StartOptions): ChildProcess {
  const stdio = ['pipe', 'pipe', 'pipe', ...(handover === undefined ? [] : (['ipc'] as const))] as const;
  // It gets its own process group, which can be killed as a whole.
  const grouped = cgroup === undefined ? wrapped : cgroup.wrap(wrapped);
  return startWrapped(killedFirst(grouped), [...stdio], { detached: true });
}

/** Whether it settles in time. */
async function settles(work: Promise<unknown>, withinMs: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), withinMs);
  try {
    return await Promise.race([work.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

interface FirstProcess {
  readonly child: ChildProcess;
  /** Undefined if it could not be started. */
  readonly known: KnownProcess | undefined;
  readonly exited: Promise<ProcessEnd>;
}

/** Kills all processes that can be found. Returns those that need a moment to end. */
async function killFound({ child, known, exited }: FirstProcess, { wrapped }: StartOptions, gently: boolean) {
  if (known === undefined) return [];
  if (wrapped.childrenMayEscape) {
    const before = descendantsOf(known);
    if (gently) {
      child.stdin?.end();
      await settles(exited, endGraceMs);
    }
    return killTree(known, before);
  }
  // The first process of a namespace is a child of the one that we know; all others end before it.
  const children = childrenOf(known.pid);
  killGroup(known.pid);
  return children;
}

/**
 * Ends all processes, whether the first still runs or not. Never rejects. Returns false if something could not be
 * killed in time, for example because it waits for a lost disk.
 */
async function endAll(first: FirstProcess, options: StartOptions, gently: boolean): Promise<boolean> {
  const { wrapped, cgroup } = options;
  const found = await killFound(first, options, gently);
  const gone = await settles(first.exited, goneMsMax);
  const [groupGone = true, , foundGone] = await Promise.all([
    cgroup?.end(),
    wrapped.end === undefined ? undefined : runEndCommand(wrapped.end),
    allGone(found, goneMsMax),
  ]);
  return gone && groupGone && foundGone;
}

/** Node drops unread output when a process ends, which may happen before the caller has it. */
function keepOutput(output: Readable): Readable {
  const kept = new PassThrough();
  output.once('error', () => kept.end());
  return output.pipe(kept);
}

async function toSandboxProcess(
  child: ChildProcess,
  handover: Bridge | undefined,
  life: Pick<SandboxProcess, 'ended' | 'kill'>,
): Promise<SandboxProcess> {
  const { stdin, stdout, stderr } = child;
  if (stdin == null || stdout == null || stderr == null) {
    await life.ended;
    throw new Error('no process can be started');
  }
  for (const stream of [stdin, stdout, stderr])
    stream.on('error', () => {
      // It no longer reads or writes; `ended` reports that.
    });
  if (handover === undefined) return { stdin, stdout, stderr, ...life };
  const sandboxProcess = { stdin, stdout: keepOutput(stdout), stderr: keepOutput(stderr), ...life };
  const release = await takeListener(child, handover);
  void life.ended.then(release);
  return sandboxProcess;
}

export interface StartedProcess {
  /** Rejects if the system cannot start another process. */
  readonly process: Promise<SandboxProcess>;
  /**
   * Like that of the process, and usable before it has started. `gently` gives a program whose children may escape a
   * moment to end them itself.
   */
  kill(gently?: boolean): Promise<void>;
  /** Of it and what it has started, as of now. */
  pids(): number[];
}

/**
 * Throws if nothing was started, or if its record could not be written. Its cgroup is removed with that of the sandbox.
 */
export function startProcess(options: StartOptions): StartedProcess {
  const { wrapped, cgroup, records, exclusiveWorkspace, handover } = options;
  const child = spawnFirst(options);
  const { pid } = child;
  const exited = endOf(child);
  const first = { child, known: pid === undefined ? undefined : knownProcess(pid), exited };
  const gaveUp = Promise.withResolvers<ProcessEnd>();
  let record: RecordHandle | undefined;
  let ending: Promise<void> | undefined;
  const kill = (gently = false) => {
    ending ??= endAll(first, options, gently).then((gone) => {
      if (gone) return record?.remove();
      record?.keep();
      gaveUp.resolve({ code: null, signal: 'SIGKILL' });
    });
    return ending;
  };
  try {
    if (pid !== undefined)
      record = records?.add({
        pid,
        folders: cgroup?.sandboxFolders ?? [],
        end: wrapped.end,
        alone: exclusiveWorkspace,
      });
  } catch (error) {
    // Without a record nobody could end it after us.
    void kill();
    throw error;
  }
  const ended = Promise.race([exited, gaveUp.promise]).then(async (end) => {
    await kill();
    return end;
  });
  const { known } = first;
  const pids = () => (known === undefined ? [] : [known, ...descendantsOf(known)].map((one) => one.pid));
  return { process: toSandboxProcess(child, handover, { ended, kill: () => kill() }), kill, pids };
}
