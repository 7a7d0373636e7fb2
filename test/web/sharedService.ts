// A service for all tests of a file, because most tests of the web UI need only conversations of their own.
import { after, before } from 'node:test';

type Cleanup = () => Promise<void>;

/** Starts it before the first test of the suite, and stops it after the last one. */
export function useShared<Started>(
  start: (t: { after(fn: Cleanup): void }) => Promise<Started>,
): () => Started {
  const cleanups: Cleanup[] = [];
  let started: Started | undefined;
  before(async () => {
    started = await start({ after: (fn) => cleanups.push(fn) });
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });
  return () => {
    if (started === undefined) throw new Error('used before the tests');
    return started;
  };
}
