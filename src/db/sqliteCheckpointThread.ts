// The thread that checkpoints the write-ahead log of SQLite, next to the one that writes.
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** The first pass takes long; the second covers what was committed meanwhile, so that little is left to the writer. */
const passes = 2;
const busyTimeoutMs = 5_000;

const database = new DatabaseSync(workerData as string, { timeout: busyTimeoutMs });
const checkpoint = database.prepare('pragma wal_checkpoint(passive)');

parentPort?.on('message', () => {
  try {
    for (let pass = 0; pass < passes; pass++) checkpoint.get();
  } catch {
    // If the disk fails for a moment, the log stays and the next checkpoint covers it.
  }
  parentPort?.postMessage('done');
});
