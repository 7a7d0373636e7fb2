// Follows a stream for as long as it is wanted. The client makes lost connections again; this also comes again where
// something else than a lost connection has ended it, such as a proxy that answers for a service that is restarted.
import { ParleyError } from '../../../src/client/parley.ts';

const againMs = 3_000;
/** Asking again would change nothing: the key does not count, or the thing is not there. */
const finalCodes: ReadonlySet<string> = new Set(['unauthorized', 'forbidden', 'not_found']);

export interface Following {
  /** Follows until the signal ends it; throws where it cannot go on. */
  readonly follow: (signal: AbortSignal) => Promise<void>;
  /** It broke off, and is tried again after a pause. */
  readonly onBroken: (error: unknown) => void;
  /** It is over. */
  readonly onRefused: (error: unknown) => void;
  readonly pauseMs?: number;
}

function isFinal(error: unknown): boolean {
  return error instanceof ParleyError && finalCodes.has(error.code);
}

/** Gives what ends it. */
export function startFollowing({ follow, onBroken, onRefused, pauseMs = againMs }: Following): () => void {
  const ending = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function attempt(): Promise<void> {
    try {
      await follow(ending.signal);
    } catch (error) {
      if (ending.signal.aborted) return;
      if (isFinal(error)) return onRefused(error);
      onBroken(error);
      timer = setTimeout(() => void attempt(), pauseMs);
    }
  }

  void attempt();
  return () => {
    ending.abort();
    clearTimeout(timer);
  };
}
