// Whether the stream of the screen is there, for whoever shows it; and the word to start it again.
import { useSyncExternalStore } from 'react';
import type { StreamState } from '../../../src/client/parley.ts';

/** `back`: it was lost, and is there again. `idle`: there is no stream, or not yet. */
type ConnectionState = 'idle' | 'live' | 'reconnecting' | 'back';

/** How long a reader is told that it is there again. */
const backShownMs = 3_000;

export interface Connection {
  state(): ConnectionState;
  report(state: StreamState): void;
  /** The stream was left on purpose. */
  forget(): void;
  /** What the stream was of is gone, and wanted to be: that it ends, from now until it is left, is no loss. */
  expectEnd(): void;
  /** Streams that may be dead without knowing are made anew; what was lost stays shown until one of them is there. */
  restart(): void;
  /** How often that was. */
  round(): number;
  subscribe(onChange: () => void): () => void;
}

export function createConnection(): Connection {
  let now: ConnectionState = 'idle';
  let round = 0;
  let endExpected = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listeners = new Set<() => void>();

  function tell(): void {
    for (const listener of listeners) listener();
  }

  function set(state: ConnectionState): void {
    clearTimeout(timer);
    now = state;
    if (state === 'back') timer = setTimeout(() => set('live'), backShownMs);
    tell();
  }

  return {
    state: () => now,
    report: (state) => {
      if (!endExpected) set(state === 'live' && now === 'reconnecting' ? 'back' : state);
    },
    // What was lost stays shown until another stream says otherwise.
    forget: () => {
      endExpected = false;
      if (now !== 'reconnecting') set('idle');
    },
    expectEnd: () => {
      endExpected = true;
      set('idle');
    },
    restart: () => {
      round++;
      tell();
    },
    round: () => round,
    subscribe: (onChange) => {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  };
}

/** Calls it each time that a lost connection is there again. Gives what ends it. */
export function onConnectedAgain({ state, subscribe }: Connection, onAgain: () => void): () => void {
  let before = state();
  return subscribe(() => {
    const isAgain = before === 'reconnecting' && state() === 'back';
    before = state();
    if (isAgain) onAgain();
  });
}

export function useConnectionState(connection: Connection): ConnectionState {
  return useSyncExternalStore(connection.subscribe, connection.state);
}

export function useRound(connection: Connection): number {
  return useSyncExternalStore(connection.subscribe, connection.round);
}
