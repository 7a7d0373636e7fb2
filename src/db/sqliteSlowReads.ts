// Runs slow reads of SQLite in a thread, one at a time. The thread starts with the first one.
import { Worker } from 'node:worker_threads';
import { AppError } from '../errors.ts';
import { programFile } from '../process/program.ts';
import { ReadTimeout, slowReadMs } from './outcomes.ts';
import type { SlowAnswer, SlowCall } from './sqliteReadThread.ts';
import type { Failure, ThreadInput } from './sqliteThread.ts';

/** How many slow reads may wait for the thread. More get an error. */
const waitingMax = 64;

interface Waiting extends SlowCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export function createSlowReads(workerData: ThreadInput, asError: (failure: Failure) => Error) {
  const waiting: Waiting[] = [];
  let thread: Worker | undefined;
  let isReady = false;
  let current: Waiting | undefined;
  let timer: NodeJS.Timeout | undefined;

  function next(): void {
    if (!isReady || current !== undefined) return;
    current = waiting.shift();
    if (current === undefined) return;
    const { name, input, reject } = current;
    // A statement cannot be interrupted: the thread finishes it, but nobody waits for its answer.
    timer = setTimeout(() => reject(new ReadTimeout()), slowReadMs);
    thread?.postMessage({ name, input } satisfies SlowCall);
  }

  function settle({ value, failure }: SlowAnswer): void {
    clearTimeout(timer);
    if (failure === undefined) current?.resolve(value);
    else current?.reject(asError(failure));
    current = undefined;
  }

  /** The next slow read starts another thread. */
  function end(error: Error): void {
    clearTimeout(timer);
    for (const { reject } of [...(current === undefined ? [] : [current]), ...waiting]) reject(error);
    waiting.length = 0;
    thread = undefined;
    current = undefined;
    isReady = false;
  }

  function start(): Worker {
    const started = new Worker(programFile('db/sqliteReadThread.ts'), { workerData });
    started.unref();
    started.on('message', (message: SlowAnswer | 'ready') => {
      if (message === 'ready') isReady = true;
      else settle(message);
      next();
    });
    started.on('error', end);
    started.on('exit', () => end(new Error('the thread for slow reads ended')));
    return started;
  }

  function run(name: string, input: unknown): Promise<unknown> {
    if (waiting.length >= waitingMax)
      return Promise.reject(
        new AppError('overloaded', 'Too many searches are waiting; try again in a moment.', {
          retryAfterS: 1,
        }),
      );
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    waiting.push({ name, input, resolve, reject });
    thread ??= start();
    next();
    return promise;
  }

  return {
    run,
    close: async (): Promise<void> => {
      await thread?.terminate();
    },
  };
}
