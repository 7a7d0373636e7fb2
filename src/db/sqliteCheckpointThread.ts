// The thread that moves the log of SQLite into its file when asked to, beside the one that writes.
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** The first takes its time; the second moves what was committed meanwhile, so that little is left to the writer. */
const passes = 2;
const busyTimeoutMs = 5_000;

const database = new DatabaseSync(workerData as string, { timeout: busyTimeoutMs });
const move = database.prepare('pragma wal_checkpoint(passive)');

parentPort?.on('message', () => {
  try {
    for (let pass = 0; pass < passes; pass++) move.get();
  } catch {
    // A disk that fails for a moment: the log stays as it is, and the next time comes.
  }
  parentPort?.postMessage('moved');
});
