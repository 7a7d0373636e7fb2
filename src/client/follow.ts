// Follows a stream of the service and comes again by itself, exactly where it was.
import { isPassing, ParleyError } from './errors.ts';
import { createFrameReader, type Frame } from './frames.ts';
import { backOffMs, pause, startTimer } from './pause.ts';
import { toFault } from './request.ts';

/** `live`: connected, and the service has said from where on. `reconnecting`: the connection is lost, and another is tried. */
export type StreamState = 'live' | 'reconnecting';

export interface FollowTimes {
  /** A connection that brings nothing for so long is given up. The service says something every 15 s. */
  readonly silenceMs: number;
  /** Before the first new try, where the service has not said; each further one waits twice as long. */
  readonly reconnectMs: number | undefined;
  readonly reconnectMaxMs: number;
}

interface FollowOptions {
  /** Asks for what follows the cursor, or for what is new where there is none. */
  readonly open: (cursor: string | undefined, signal: AbortSignal) => Promise<Response>;
  readonly cursor: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onState: ((state: StreamState) => void) | undefined;
  readonly times: FollowTimes;
}

const reconnectDefaultMs = 1_000;
/** Whatever a service says, it is not asked without pause. */
const reconnectMinMs = 500;

/** One connection, until either side ends it or it falls silent. */
async function* readOnce(options: FollowOptions, cursor: string | undefined): AsyncGenerator<Frame> {
  const { open, signal, times } = options;
  const ending = new AbortController();
  const end = () => ending.abort(signal?.reason);
  if (signal?.aborted) end();
  signal?.addEventListener('abort', end, { once: true });

  /** The clock runs only while we wait for the other side, not while our reader is busy. */
  async function within<Out>(work: Promise<Out>): Promise<Out> {
    const silent = () => ending.abort(new ParleyError('timeout', 'The stream has fallen silent.'));
    const timer = startTimer(times.silenceMs, silent);
    try {
      return await work;
    } catch (error) {
      throw toFault(error, signal);
    } finally {
      clearTimeout(timer);
    }
  }

  try {
    const response = await within(open(cursor, ending.signal));
    if (response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      throw new ParleyError('unexpected', 'The answer is no stream of Parley.', { status: response.status });
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const framesOf = createFrameReader();
    for (;;) {
      const { done, value } = await within(reader.read());
      if (done) return;
      yield* framesOf(decoder.decode(value, { stream: true }));
    }
  } finally {
    signal?.removeEventListener('abort', end);
    ending.abort();
  }
}

/** Whether to come again: all but what the service has refused for good. */
function isLost(error: unknown): boolean {
  return error instanceof ParleyError && (isPassing(error) || error.status >= 500);
}

/**
 * Gives each frame once and in order, over as many connections as it takes. Ends when the signal does;
 * throws where the service refuses: there is no such thing, or the key does not count.
 */
export async function* follow(options: FollowOptions): AsyncGenerator<Frame, void, undefined> {
  const { signal, onState, times } = options;
  let { cursor } = options;
  let firstMs = times.reconnectMs ?? reconnectDefaultMs;
  for (let failures = 0; !signal?.aborted; failures++) {
    let [askedMs, isLive] = [0, false];
    const since = performance.now();
    try {
      for await (const frame of readOnce(options, cursor)) {
        // What only says from where on proves nothing.
        if (frame.data !== '') failures = 0;
        if (frame.retryMs !== undefined)
          firstMs = times.reconnectMs ?? Math.max(reconnectMinMs, frame.retryMs);
        cursor = frame.id ?? cursor;
        // Not before: whoever is live and loses the connection must be able to come again.
        if (!isLive) onState?.('live');
        isLive = true;
        yield frame;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isLost(error)) throw error;
      if (error instanceof ParleyError) askedMs = error.retryAfterMs ?? 0;
    }
    if (signal?.aborted) return;
    if (performance.now() - since > times.reconnectMaxMs) failures = 0;
    onState?.('reconnecting');
    const waitMs = Math.max(askedMs, backOffMs(failures, firstMs, times.reconnectMaxMs));
    await pause(waitMs, signal).catch(() => {});
  }
}
