// Schedules checkpoints of SQLite's write-ahead log. A commit that did one would delay all callers by ten milliseconds,
// so a thread does most of the work, and the writer only the rest.
import type { StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { programFile } from '../process/program.ts';

/** How many frames make a checkpoint worthwhile. More frames mean that pages which change often are written once. */
const dueFrames = 4_000;
/** If the thread is too slow or has failed, the writer does the checkpoint with a commit. */
export const forcedFrames = 4 * dueFrames;
/** It makes hardly any garbage, so it needs much less than the default. */
const youngGenerationMb = 1;

interface Progress {
  readonly log: number;
  readonly checkpointed: number;
}

/** `statement` belongs to the writing connection. */
export function createCheckpoints(file: string, statement: (text: string) => StatementSync) {
  let thread: Worker | undefined;
  let moving = false;

  function start(): Worker {
    const started = new Worker(programFile('db/sqliteCheckpointThread.ts'), {
      workerData: file,
      resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb },
    });
    started.on('message', finish);
    // It is not asked again; commits do the checkpoints.
    started.on('error', () => {});
    return started;
  }

  function checkpoint(mode: 'noop' | 'passive'): Progress {
    try {
      return statement(`pragma wal_checkpoint(${mode})`).get() as unknown as Progress;
    } catch {
      // Nothing is lost: the data stays in the log until the disk works again.
      return { log: 0, checkpointed: 0 };
    }
  }

  function finish(): void {
    checkpoint('passive');
    moving = false;
  }

  return {
    /** Must be called now and then, between transactions. */
    look: (): void => {
      if (moving) return;
      const { log, checkpointed } = checkpoint('noop');
      if (log - checkpointed < dueFrames) return;
      moving = true;
      try {
        thread ??= start();
        thread.postMessage('move');
      } catch {
        // The system cannot start a thread, so commits do the checkpoints.
      }
    },
    close: async (): Promise<void> => {
      await thread?.terminate();
    },
  };
}
