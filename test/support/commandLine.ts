// Runs `parley` like a person, with a service in the test process: with pipes, or in a pseudo-terminal.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { compileCacheDir, mainFile as main } from './program.ts';
import type { TestService } from './service.ts';
import { until } from './until.ts';

const endWithinMs = 30_000;

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  /** The output so far. */
  shown(): string;
  /** Types into the terminal. */
  type(text: string): void;
  signal(name: NodeJS.Signals): void;
  ended(): Promise<Ran>;
}

export interface TerminalSize {
  readonly columns: number;
}

export interface CommandLine {
  run(words: readonly string[], input?: string): Promise<Ran>;
  start(words: readonly string[]): Running;
  /** Starts in a pseudo-terminal. The output is in `stdout`, with `\r\n` as line ends. */
  startInTerminal(words: readonly string[], size?: TerminalSize): Running;
  runInTerminal(words: readonly string[], size?: TerminalSize): Promise<Ran>;
}

function watchChild(child: ChildProcessWithoutNullStreams): Running {
  const written = { stdout: '', stderr: '' };
  let ended: Ran | undefined;
  child.stdout.setEncoding('utf8').on('data', (text) => (written.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (written.stderr += text));
  child.stdin.on('error', () => {});
  child.on('close', (code) => {
    ended = { code, ...written };
  });
  return {
    shown: () => written.stdout,
    type: (text) => void child.stdin.write(text),
    signal: (name) => void child.kill(name),
    ended: () => until(`the end; so far: ${JSON.stringify(written)}`, () => ended, endWithinMs),
  };
}

export const shellWord = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

/** `env` overrides the variables that locate the service. */
export function createCommandLine(
  service: Pick<TestService, 'url' | 'storage'>,
  t: { after(fn: () => Promise<void>): void },
  env: Readonly<Record<string, string>> = {},
): CommandLine {
  const children: ChildProcessWithoutNullStreams[] = [];
  t.after(async () => {
    for (const child of children) child.kill('SIGKILL');
  });
  const environment = {
    PATH: process.env['PATH'] ?? '',
    NODE_COMPILE_CACHE: compileCacheDir,
    PARLEY_URL: service.url,
    PARLEY_DATA_DIR: service.storage.dataDir,
    ...env,
  };

  function begin(command: string, args: readonly string[], more: Record<string, string> = {}) {
    const child = spawn(command, args, { env: { ...environment, ...more } });
    children.push(child);
    return { child, running: watchChild(child) };
  }

  function start(words: readonly string[]): Running {
    return begin(process.execPath, [main, ...words]).running;
  }

  function startInTerminal(words: readonly string[], size?: TerminalSize): Running {
    const line = [process.execPath, main, ...words].map(shellWord).join(' ');
    const resize = size === undefined ? '' : `stty columns ${size.columns}; `;
    // `script` gives the command a terminal, and exits with its code.
    const file = join(service.storage.dataDir, 'typescript');
    return begin('script', ['-q', '-e', '-c', `${resize}exec ${line}`, file], {
      TERM: 'xterm-256color',
      SHELL: '/bin/sh',
    }).running;
  }

  return {
    start,
    startInTerminal,
    runInTerminal: (words, size) => startInTerminal(words, size).ended(),
    run: (words, input = '') => {
      const { child, running } = begin(process.execPath, [main, ...words]);
      child.stdin.end(input);
      return running.ended();
    },
  };
}

/** The lines of JSON that a command has written. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
export function jsonLines(text: string): any[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
