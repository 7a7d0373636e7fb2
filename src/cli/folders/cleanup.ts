// Leaves nothing behind: what a command has started or created for a moment is removed when its work is done, and also
// if the process is ended meanwhile.

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const cleanups = new Set<() => void>();

function cleanUpAll(): void {
  for (const cleanup of cleanups) cleanup();
  cleanups.clear();
}

function cleanUpAndEnd(signal: NodeJS.Signals): void {
  cleanUpAll();
  removeListeners();
  // Without another listener, the signal ends the process as if there had been none.
  if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
}

function removeListeners(): void {
  process.off('exit', cleanUpAll);
  for (const signal of endingSignals) process.off(signal, cleanUpAndEnd);
}

/** Runs `cleanup` after the work, whether it succeeds or not. It must not throw, and may run twice. */
export async function withCleanup<Out>(cleanup: () => void, work: () => Promise<Out>): Promise<Out> {
  if (cleanups.size === 0) {
    process.on('exit', cleanUpAll);
    for (const signal of endingSignals) process.on(signal, cleanUpAndEnd);
  }
  cleanups.add(cleanup);
  try {
    return await work();
  } finally {
    cleanup();
    cleanups.delete(cleanup);
    if (cleanups.size === 0) removeListeners();
  }
}
