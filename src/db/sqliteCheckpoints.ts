// When the log of SQLite is moved into its file. A commit that did it would keep all who wait for ten milliseconds, so
// a thread does most of it beside the writer; the writer moves what came meanwhile, and the log begins anew.
import type { StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { programFile } from '../process/program.ts';

/** Frames of the log that are worth moving: the more, the more often changed pages are moved once. */
const dueFrames = 4_000;
/** Where the thread is too slow or has failed, a commit of the writer moves the log. */
export const forcedFrames = 4 * dueFrames;
/** It makes next to no garbage; the default room for it is many times what it needs. */
const youngGenerationMb = 1;

interface Progress {
  readonly log: number;
  readonly checkpointed: number;
}

/** `statement`: of the connection that writes. */
export function createCheckpoints(file: string, statement: (text: string) => StatementSync) {
  let thread: Worker | undefined;
  let moving = false;

  function start(): Worker {
    const started = new Worker(programFile('db/sqliteCheckpointThread.ts'), {
      workerData: file,
      resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb },
    });
    started.on('message', finish);
    // It is never heard of again, and so not asked again: commits move the log.
    started.on('error', () => {});
    return started;
  }

  function checkpoint(mode: 'noop' | 'passive'): Progress {
    try {
      return statement(`pragma wal_checkpoint(${mode})`).get() as unknown as Progress;
    } catch {
      // Nothing is lost: it stays in the log, and is moved when the disk is well again.
      return { log: 0, checkpointed: 0 };
    }
  }

  function finish(): void {
    checkpoint('passive');
    moving = false;
  }

  return {
    /** To be called now and then, between transactions. */
    look: (): void => {
      if (moving) return;
      const { log, checkpointed } = checkpoint('noop');
      if (log - checkpointed < dueFrames) return;
      moving = true;
      try {
        thread ??= start();
        thread.postMessage('move');
      } catch {
        // The system has no thread to give: commits move the log.
      }
    },
    close: async (): Promise<void> => {
      await thread?.terminate();
    },
  };
}
