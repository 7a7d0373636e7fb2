// The log of one conversation as the screen follows it: read whole, then live, over as many connections as it takes.
// Each event is taken once.
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { Parley, ParleyEvent, StreamState } from '../../../src/client/parley.ts';
import { startSubscription } from '../live/subscription.ts';
import type { Item, LogState } from './items.ts';
import { createTimeline } from './timeline.ts';

/** `loading` until all that was there at the start has been read. `refused`: it is over, and `error` says why. */
type LogPhase = 'loading' | 'live' | 'refused';

export interface LogView {
  readonly phase: LogPhase;
  readonly items: readonly Item[];
  readonly state: LogState;
  /** Why it broke off, until it goes on; it comes again by itself. */
  readonly error: unknown;
}

interface LogOptions {
  readonly parley: Pick<Parley, 'conversations' | 'events'>;
  readonly id: string;
  readonly onStream: (state: StreamState) => void;
  /** Hears of each event that comes after those that were there. */
  readonly onLive: (event: ParleyEvent) => void;
  readonly retryMs?: number;
}

/** Events that come together are shown together. */
const gatherMs = 30;

export function createLog() {
  const timeline = createTimeline();
  const listeners = new Set<() => void>();
  let view: LogView = { phase: 'loading', items: [], state: timeline.state(), error: undefined };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let next = 0;

  function show(part: Partial<LogView> = {}): void {
    clearTimeout(timer);
    timer = undefined;
    view = { ...view, items: timeline.items(), state: timeline.state(), ...part };
    for (const listener of listeners) listener();
  }

  /** One that cannot be shown is passed over, so that all others are. */
  function take(event: ParleyEvent): void {
    next = event.id + 1;
    try {
      timeline.take(event);
    } catch (error) {
      console.warn('Parley cannot show an event.', error);
    }
  }

  async function follow({ parley, id, onStream, onLive }: LogOptions, signal: AbortSignal): Promise<void> {
    // What is there comes sooner in one piece than event by event.
    if (next === 0)
      for (const event of (await parley.conversations.trajectory(id, { signal })).trajectory) take(event);
    show({ phase: 'live' });
    const onState = (state: StreamState) => {
      onStream(state);
      if (state === 'live') show({ error: undefined });
    };
    for await (const event of parley.events(id, { from: next, signal, onState })) {
      take(event);
      onLive(event);
      timer ??= setTimeout(() => show(), gatherMs);
    }
  }

  return {
    /** Gives what ends it; started again, it goes on where it was. */
    start: (options: LogOptions) => {
      const end = startSubscription({
        read: (signal) => follow(options, signal),
        onInterrupted: (error) => {
          options.onStream('reconnecting');
          show({ error });
        },
        onRejected: (error) => show({ phase: 'refused', error }),
        ...(options.retryMs === undefined ? {} : { retryMs: options.retryMs }),
      });
      return () => {
        end();
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

interface FollowedLog extends LogView {
  /** Now, without waiting for the next try. */
  readonly readAgain: () => void;
}

/** Follows while the screen is shown. The options must stay the same; another `round` starts the stream anew. */
export function useLog(options: LogOptions, round: number): FollowedLog {
  const [log] = useState(createLog);
  const [attempt, setAttempt] = useState(0);
  const { parley, id, onStream, onLive } = options;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt or round starts it again
  useEffect(
    () => log.start({ parley, id, onStream, onLive }),
    [log, parley, id, onStream, onLive, attempt, round],
  );
  const view = useSyncExternalStore(log.subscribe, log.view);
  return { ...view, readAgain: () => setAttempt((before) => before + 1) };
}
