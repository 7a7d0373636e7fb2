// The state of the stream that the screen reads, and the request to open it again.
import { useSyncExternalStore } from 'react';
import type { StreamState } from '../../../src/client/parley.ts';

/** `back`: the stream was lost and has just been restored. `idle`: there is no stream yet. */
type ConnectionState = 'idle' | 'live' | 'reconnecting' | 'back';

const backShownMs = 3_000;

export interface Connection {
  state(): ConnectionState;
  report(state: StreamState): void;
  /** The screen has closed its stream. */
  streamClosed(): void;
  /** The stream is about to end on purpose, for example because the conversation was deleted. */
  expectEnd(): void;
  /** Opens the streams again, because they may be dead without noticing. */
  restart(): void;
  restartCount(): number;
  subscribe(onChange: () => void): () => void;
}

export function createConnection(): Connection {
  let current: ConnectionState = 'idle';
  let restartCount = 0;
  let endExpected = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listeners = new Set<() => void>();

  function notify(): void {
    for (const listener of listeners) listener();
  }

  function set(state: ConnectionState): void {
    clearTimeout(timer);
    current = state;
    if (state === 'back') timer = setTimeout(() => set('live'), backShownMs);
    notify();
  }

  return {
    state: () => current,
    report: (state) => {
      if (!endExpected) set(state === 'live' && current === 'reconnecting' ? 'back' : state);
    },
    // A lost connection stays lost until another stream is open.
    streamClosed: () => {
      endExpected = false;
      if (current !== 'reconnecting') set('idle');
    },
    expectEnd: () => {
      endExpected = true;
      set('idle');
    },
    restart: () => {
      restartCount++;
      notify();
    },
    restartCount: () => restartCount,
    subscribe: (onChange) => {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  };
}

/** Calls back each time a lost connection is restored. Returns the function that unsubscribes. */
export function onReconnected({ state, subscribe }: Connection, onRestored: () => void): () => void {
  let before = state();
  return subscribe(() => {
    const isRestored = before === 'reconnecting' && state() === 'back';
    before = state();
    if (isRestored) onRestored();
  });
}

export function useConnectionState(connection: Connection): ConnectionState {
  return useSyncExternalStore(connection.subscribe, connection.state);
}

export function useRestartCount(connection: Connection): number {
  return useSyncExternalStore(connection.subscribe, connection.restartCount);
}
