// Keeps a stream open. The client itself reconnects after network errors; this also retries after other errors, such as
// a proxy's error page while the service restarts.
import { ParleyError } from '../../../src/client/parley.ts';

const defaultRetryMs = 3_000;
/** A retry would not help: the key is not accepted, or the conversation does not exist. */
const finalCodes: ReadonlySet<string> = new Set(['unauthorized', 'forbidden', 'not_found']);

/** Tests have no window. */
const pageTarget: EventTarget = typeof window === 'undefined' ? new EventTarget() : window;

export interface SubscriptionOptions {
  /** Reads the stream until the signal aborts; throws when it breaks. */
  readonly read: (signal: AbortSignal) => Promise<void>;
  /** The stream broke, and is opened again after a pause. */
  readonly onInterrupted: (error: unknown) => void;
  /** The service rejected the stream; it is not opened again. */
  readonly onRejected: (error: unknown) => void;
  readonly retryMs?: number;
  /** Receives `pagehide` and `pageshow`; the window if it is absent. */
  readonly page?: EventTarget;
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
  page = pageTarget,
}: SubscriptionOptions): () => void {
  let controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isRejected = false;

  async function attempt({ signal }: AbortController): Promise<void> {
    try {
      await read(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (isFinal(error)) {
        isRejected = true;
        return onRejected(error);
      }
      onInterrupted(error);
      timer = setTimeout(() => void attempt(controller), retryMs);
    }
  }

  function close(): void {
    controller.abort();
    clearTimeout(timer);
  }

  function reopen(): void {
    if (!controller.signal.aborted || isRejected) return;
    controller = new AbortController();
    void attempt(controller);
  }

  // Browsers keep a page that was left, for their back button, and its connections with it: six such pages would leave
  // none for the next one.
  page.addEventListener('pagehide', close);
  page.addEventListener('pageshow', reopen);
  void attempt(controller);
  return () => {
    page.removeEventListener('pagehide', close);
    page.removeEventListener('pageshow', reopen);
    close();
  };
}
