// The log of one conversation as the screen follows it: read whole, then live, over as many connections as it takes. Each event is taken once.
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { Parley, ParleyEvent, StreamState } from '../../../src/client/parley.ts';
import type { Item, LogState } from './items.ts';
import { createTimeline } from './timeline.ts';

/** `loading` until all that was there at the start has been read. */
export type LogPhase = 'loading' | 'live' | 'failed';

export interface LogView {
  readonly phase: LogPhase;
  readonly items: readonly Item[];
  readonly state: LogState;
  /** How many events there are. */
  readonly count: number;
  readonly error: unknown;
}

interface LogOptions {
  readonly parley: Parley;
  readonly id: string;
  readonly onStream: (state: StreamState) => void;
  /** Hears of each event that comes after those that were there. */
  readonly onLive: (event: ParleyEvent) => void;
}

/** Events that come together are shown together. */
const gatherMs = 30;

function createLog() {
  const timeline = createTimeline();
  const listeners = new Set<() => void>();
  let view: LogView = { phase: 'loading', items: [], state: timeline.state(), count: 0, error: undefined };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let count = 0;

  function show(part: Partial<LogView> = {}): void {
    clearTimeout(timer);
    timer = undefined;
    view = { ...view, items: timeline.items(), state: timeline.state(), count, ...part };
    for (const listener of listeners) listener();
  }

  function take(event: ParleyEvent): void {
    timeline.take(event);
    count = event.id + 1;
  }

  async function follow({ parley, id, onStream, onLive }: LogOptions, signal: AbortSignal): Promise<void> {
    // What is there comes sooner in one piece than event by event.
    if (count === 0)
      for (const event of (await parley.conversations.trajectory(id, { signal })).trajectory) take(event);
    show({ phase: 'live', error: undefined });
    for await (const event of parley.events(id, { from: count, signal, onState: onStream })) {
      take(event);
      onLive(event);
      timer ??= setTimeout(() => show(), gatherMs);
    }
  }

  return {
    start: (options: LogOptions) => {
      const ending = new AbortController();
      follow(options, ending.signal).catch((error: unknown) => {
        if (!ending.signal.aborted) show({ phase: 'failed', error });
      });
      return () => {
        ending.abort();
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

/** Follows while the screen is shown. The options must stay the same. */
export function useLog(options: LogOptions): LogView & { readonly readAgain: () => void } {
  const [log] = useState(createLog);
  const [attempt, setAttempt] = useState(0);
  const { parley, id, onStream, onLive } = options;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt starts it again
  useEffect(() => log.start({ parley, id, onStream, onLive }), [log, parley, id, onStream, onLive, attempt]);
  const view = useSyncExternalStore(log.subscribe, log.view);
  return { ...view, readAgain: () => setAttempt((before) => before + 1) };
}
