// One command of the model: a shell in its own process group, its output, and its end.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { createOutput, type Output } from './output.ts';
import { endGroup, groupLives } from './processGroup.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface CommandEnd {
  /** As in shells, 128 plus the number of the signal if the process was killed. */
  readonly exitCode: number;
  readonly signal: NodeJS.Signals | null;
}

export type Waited = 'ended' | 'late' | 'aborted';

export interface Command {
  readonly text: string;
  readonly output: Output;
  /** The end of the shell; undefined while it runs. */
  end(): CommandEnd | undefined;
  /** Whether the shell, a process of its group, or another process that holds its output open is still running. */
  isAlive(): boolean;
  /** Waits until the shell has ended, and a moment longer for its other processes. Never rejects. */
  shellEnds(withinMs: number, signal: AbortSignal): Promise<Waited>;
  /** Waits until all processes have ended. Never rejects. */
  allEnds(withinMs: number, signal: AbortSignal): Promise<Waited>;
  /** Ends the process group. Processes that left it may continue, but their output is ignored. Never rejects. */
  stop(): Promise<void>;
}

/** How long processes that outlive their shell may still write or end. */
const lingerMs = 300;
const askAgainMs = 25;

/** Uses one pipe for stdout and stderr, so that they stay in order, and bash if it is installed. */
const script =
  'if command -v bash >/dev/null 2>&1; then exec bash -c "$1" 2>&1; else exec sh -c "$1" 2>&1; fi';

/** There is no terminal, so pagers, prompts and colours are switched off. */
const withoutTerminal = { TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0' };

interface Shell {
  readonly child: ChildProcessByStdio<null, Readable, null>;
  readonly exited: Promise<void>;
  end: CommandEnd | undefined;
  outputClosed: boolean;
  /** After the group has ended, its number may be reused. */
  groupGone: boolean;
}

interface Starting {
  readonly text: string;
  readonly cwd: string;
  readonly env: Environment;
}

function endOf(code: number | null, signal: NodeJS.Signals | null): CommandEnd {
  return { exitCode: code ?? 128 + (signal === null ? 0 : constants.signals[signal]), signal };
}

async function startShell({ text, cwd, env }: Starting, output: Output): Promise<Shell> {
  const child = spawn('/bin/sh', ['-c', script, 'sh', text], {
    cwd,
    env: { ...env, ...withoutTerminal },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // Also emitted if a signal could not be sent. Without a listener, it would end the program.
  child.on('error', () => {});
  // Contrary to its type, the stream is undefined if no pipe could be created.
  if (child.stdout == null) throw new Error('too many files are open');
  const exited = Promise.withResolvers<void>();
  const shell: Shell = {
    child,
    exited: exited.promise,
    end: undefined,
    outputClosed: false,
    groupGone: false,
  };
  child.once('exit', (code, signal) => {
    shell.end = endOf(code, signal);
    exited.resolve();
  });
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (piece: string) => output.push(piece));
  child.stdout.on('error', () => {
    // The stream closes next.
  });
  child.stdout.once('close', () => {
    shell.outputClosed = true;
  });
  await once(child, 'spawn');
  return shell;
}

function isAlive(shell: Shell): boolean {
  if (shell.end === undefined) return true;
  shell.groupGone ||= !groupLives(shell.child.pid ?? 0);
  return !shell.groupGone || !shell.outputClosed;
}

/** Polls, because there is no notification about the end of a process group. */
async function dies(shell: Shell, withinMs: number, signal?: AbortSignal): Promise<boolean> {
  const stopAt = performance.now() + withinMs;
  while (isAlive(shell)) {
    if (performance.now() >= stopAt || signal?.aborted === true) return false;
    await wait(askAgainMs);
  }
  return true;
}

async function shellEnds(shell: Shell, withinMs: number, signal: AbortSignal): Promise<Waited> {
  const over = new AbortController();
  const late = wait(withinMs, undefined, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => {
    // The wait was aborted.
  });
  await Promise.race([shell.exited, late]);
  over.abort();
  if (shell.end === undefined) return signal.aborted ? 'aborted' : 'late';
  await dies(shell, lingerMs);
  return 'ended';
}

async function allEnds(shell: Shell, withinMs: number, signal: AbortSignal): Promise<Waited> {
  const from = performance.now();
  const waited = await shellEnds(shell, withinMs, signal);
  if (waited !== 'ended') return waited;
  if (await dies(shell, withinMs - (performance.now() - from), signal)) return 'ended';
  return signal.aborted ? 'aborted' : 'late';
}

async function stopShell(shell: Shell): Promise<void> {
  if (!shell.groupGone) await endGroup(shell.child.pid ?? 0);
  await dies(shell, lingerMs);
  shell.child.stdout.destroy();
  await dies(shell, lingerMs);
}

/** Rejects if no process could be started. */
export async function startCommand(starting: Starting): Promise<Command> {
  const output = createOutput();
  const shell = await startShell(starting, output);
  let stopping: Promise<void> | undefined;
  return {
    text: starting.text,
    output,
    end: () => shell.end,
    isAlive: () => isAlive(shell),
    shellEnds: (withinMs, signal) => shellEnds(shell, withinMs, signal),
    allEnds: (withinMs, signal) => allEnds(shell, withinMs, signal),
    stop: () => {
      stopping ??= stopShell(shell);
      return stopping;
    },
  };
}
