// Keeps a stream open. The client itself reconnects after network errors; this also retries after other errors, such as
// a proxy's error page while the service restarts.
import { ParleyError } from '../../../src/client/parley.ts';

const defaultRetryMs = 3_000;
/** A retry would not help: the key is not accepted, or the conversation does not exist. */
const finalCodes: ReadonlySet<string> = new Set(['unauthorized', 'forbidden', 'not_found']);

export interface SubscriptionOptions {
  /** Reads the stream until the signal aborts; throws when it breaks. */
  readonly read: (signal: AbortSignal) => Promise<void>;
  /** The stream broke, and is opened again after a pause. */
  readonly onInterrupted: (error: unknown) => void;
  /** The service rejected the stream; it is not opened again. */
  readonly onRejected: (error: unknown) => void;
  readonly retryMs?: number;
}

function isFinal(error: unknown): boolean {
  return error instanceof ParleyError && finalCodes.has(error.code);
}

/** Returns the function that unsubscribes. */
export function startSubscription({
  read,
  onInterrupted,
  onRejected,
  retryMs = defaultRetryMs,
}: SubscriptionOptions): () => void {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function attempt(): Promise<void> {
    try {
      await read(controller.signal);
    } catch (error) {
      if (controller.signal.aborted) return;
      if (isFinal(error)) return onRejected(error);
      onInterrupted(error);
      timer = setTimeout(() => void attempt(), retryMs);
    }
  }

  void attempt();
  return () => {
    controller.abort();
    clearTimeout(timer);
  };
}
