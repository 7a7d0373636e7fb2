// The log of the open conversation: loads it as a whole, then streams it, and adds each event to the timeline once.
import { useEffect, useState, useSyncExternalStore } from 'react';
import {
  createOpenTexts,
  type Parley,
  type ParleyEvent,
  type StreamState,
} from '../../../src/client/parley.ts';
import { startSubscription } from '../live/subscription.ts';
import type { Item, LogState } from './items.ts';
import { createTimeline } from './timeline/timeline.ts';

/** `loading`: the existing events are being fetched. `refused`: the stream has ended, and `error` is the reason. */
type LogPhase = 'loading' | 'live' | 'refused';

export interface LogView {
  readonly phase: LogPhase;
  readonly items: readonly Item[];
  readonly state: LogState;
  /** The newest event; undefined if there is none. */
  readonly lastEventId: number | undefined;
  /** Why the stream broke. It is retried automatically. */
  readonly error: unknown;
}

interface LogOptions {
  readonly parley: Pick<Parley, 'conversations' | 'events'>;
  readonly id: string;
  readonly onStream: (state: StreamState) => void;
  /** Called for each event after the existing ones. */
  readonly onLive: (event: ParleyEvent) => void;
  readonly retryMs?: number;
}

/** Events within this time are rendered together. */
const batchMs = 30;

export function createLog() {
  const timeline = createTimeline();
  const texts = createOpenTexts();
  const listeners = new Set<() => void>();
  let view: LogView = {
    phase: 'loading',
    items: [],
    state: timeline.state(),
    lastEventId: undefined,
    error: undefined,
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let next = 0;

  function show(part: Partial<LogView> = {}): void {
    clearTimeout(timer);
    timer = undefined;
    const lastEventId = next === 0 ? undefined : next - 1;
    view = { ...view, items: timeline.items(texts.list()), state: timeline.state(), lastEventId, ...part };
    for (const listener of listeners) listener();
  }

  /** Skips an event that cannot be shown. */
  function add(event: ParleyEvent): void {
    next = event.id + 1;
    texts.cover(event);
    try {
      timeline.add(event);
    } catch (error) {
      console.warn('Parley cannot show an event.', error);
    }
  }

  async function read({ parley, id, onStream, onLive }: LogOptions, signal: AbortSignal): Promise<void> {
    // One response is faster than a stream for the existing events.
    if (next === 0)
      for (const event of (await parley.conversations.trajectory(id, { signal })).trajectory) add(event);
    // Each stream sends unfinished texts from their beginning.
    texts.clear();
    show({ phase: 'live' });
    const onState = (state: StreamState) => {
      onStream(state);
      if (state === 'live') show({ error: undefined });
    };
    for await (const event of parley.events(id, { from: next, partials: true, signal, onState })) {
      if (event.type === 'partial') texts.add(event);
      else {
        add(event);
        onLive(event);
      }
      timer ??= setTimeout(() => show(), batchMs);
    }
  }

  return {
    /** Returns the function that stops it. A second start continues where the first one stopped. */
    start: (options: LogOptions) => {
      const unsubscribe = startSubscription({
        read: (signal) => read(options, signal),
        onInterrupted: (error) => {
          options.onStream('reconnecting');
          show({ error });
        },
        onRejected: (error) => show({ phase: 'refused', error }),
        ...(options.retryMs === undefined ? {} : { retryMs: options.retryMs }),
      });
      return () => {
        unsubscribe();
        clearTimeout(timer);
        timer = undefined;
      };
    },
    view: () => view,
    subscribe: (onChange: () => void) => {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  };
}

interface StreamedLog extends LogView {
  /** Retries now, without waiting for the next attempt. */
  readonly retry: () => void;
}

/** Streams while the component is mounted. The options must be stable; a new `restartCount` opens the stream again. */
export function useLog(options: LogOptions, restartCount: number): StreamedLog {
  const [log] = useState(createLog);
  const [attempt, setAttempt] = useState(0);
  const { parley, id, onStream, onLive } = options;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt or restart opens the stream again
  useEffect(
    () => log.start({ parley, id, onStream, onLive }),
    [log, parley, id, onStream, onLive, attempt, restartCount],
  );
  const view = useSyncExternalStore(log.subscribe, log.view);
  return { ...view, retry: () => setAttempt((before) => before + 1) };
}
