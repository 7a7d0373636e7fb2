// Reads a stream of the service. It reconnects by itself and resumes exactly where it was.
import { isTemporary, ParleyError } from './errors.ts';
import { createFrameReader, type Frame } from './frames.ts';
import { backOffMs, pause, startTimer } from './pause.ts';
import { toFault } from './request.ts';

/** `live`: connected, and the service has sent its cursor. `reconnecting`: the connection was lost. */
export type StreamState = 'live' | 'reconnecting';

export interface FollowTimes {
  /** A connection without data for this time is closed. The service sends a heartbeat every 15 s. */
  readonly silenceMs: number;
  /** The delay before the first reconnection, unless the service sends one. It doubles with each further attempt. */
  readonly reconnectMs: number | undefined;
  readonly reconnectMaxMs: number;
}

interface FollowOptions {
  /** Requests what follows the cursor, or only new entries if there is none. */
  readonly open: (cursor: string | undefined, signal: AbortSignal) => Promise<Response>;
  readonly cursor: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onState: ((state: StreamState) => void) | undefined;
  readonly times: FollowTimes;
}

const reconnectDefaultMs = 1_000;
/** The shortest delay, whatever the service sends. */
const reconnectMinMs = 500;

/** Reads one connection until either side closes it or no data arrives in time. */
async function* readOnce(options: FollowOptions, cursor: string | undefined): AsyncGenerator<Frame> {
  const { open, signal, times } = options;
  const ending = new AbortController();
  const end = () => ending.abort(signal?.reason);
  if (signal?.aborted) end();
  signal?.addEventListener('abort', end, { once: true });

  /** The timeout counts only while the client waits for the service, not while its reader is busy. */
  async function withTimeout<Out>(work: Promise<Out>): Promise<Out> {
    const silent = () => ending.abort(new ParleyError('timeout', 'The stream sent no data for too long.'));
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
    const response = await withTimeout(open(cursor, ending.signal));
    if (response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      throw new ParleyError('unexpected', 'The response is not an event stream.', {
        status: response.status,
      });
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const framesOf = createFrameReader();
    for (;;) {
      const { done, value } = await withTimeout(reader.read());
      if (done) return;
      yield* framesOf(decoder.decode(value, { stream: true }));
    }
  } finally {
    signal?.removeEventListener('abort', end);
    ending.abort();
  }
}

/** Whether to reconnect: after everything that the service has not refused permanently. */
function mayReconnect(error: unknown): boolean {
  return error instanceof ParleyError && (isTemporary(error) || error.status >= 500);
}

/**
 * Yields each frame once and in order, over any number of connections. Ends when the signal is aborted. Throws if the
 * service refuses the request, such as for an invalid API key.
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
        // A frame with only a cursor does not prove that the connection works.
        if (frame.data !== '') failures = 0;
        if (frame.retryMs !== undefined)
          firstMs = times.reconnectMs ?? Math.max(reconnectMinMs, frame.retryMs);
        cursor = frame.id ?? cursor;
        // The cursor is needed to reconnect, so the state is not live before it has arrived.
        if (!isLive) onState?.('live');
        isLive = true;
        yield frame;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!mayReconnect(error)) throw error;
      if (error instanceof ParleyError) askedMs = error.retryAfterMs ?? 0;
    }
    if (signal?.aborted) return;
    if (performance.now() - since > times.reconnectMaxMs) failures = 0;
    onState?.('reconnecting');
    const waitMs = Math.max(askedMs, backOffMs(failures, firstMs, times.reconnectMaxMs));
    await pause(waitMs, signal).catch(() => {});
  }
}
