// The state of the connection, from the streams that the screen reads, and the request to open them again.
import { useSyncExternalStore } from 'react';
import type { StreamState } from '../../../src/client/parley.ts';

/** `back`: a stream was lost, and all are open again. `idle`: there is no stream yet. */
type ConnectionState = 'idle' | 'live' | 'reconnecting' | 'back';

const backShownMs = 3_000;

/** One of the streams of the screen. */
export interface ConnectionStream {
  report(state: StreamState): void;
  /** The screen has closed it. A later report opens it again. */
  closed(): void;
}

export interface Connection {
  state(): ConnectionState;
  /** Streams have names, so that `expectEnd` finds them. */
  stream(name: string): ConnectionStream;
  /** The service cannot be reached, though the streams may not have noticed. */
  lost(): void;
  /** The stream is about to end on purpose, for example because the conversation was deleted. */
  expectEnd(name: string): void;
  /** Opens the streams again, because they may be dead without noticing. */
  restart(): void;
  restartCount(): number;
  subscribe(onChange: () => void): () => void;
}

export function createConnection(): Connection {
  let current: ConnectionState = 'idle';
  let restartCount = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listeners = new Set<() => void>();
  const streams = new Map<string, StreamState | 'ended'>();

  function notify(): void {
    for (const listener of listeners) listener();
  }

  function set(state: ConnectionState): void {
    clearTimeout(timer);
    current = state;
    if (state === 'back') timer = setTimeout(() => set('live'), backShownMs);
    notify();
  }

  const some = (state: StreamState) => [...streams.values()].includes(state);

  /** One open stream proves that the service can be reached only if no other is lost. */
  function update(): void {
    if (some('reconnecting')) {
      if (current !== 'reconnecting') set('reconnecting');
    } else if (some('live')) {
      if (current === 'reconnecting') set('back');
      else if (current === 'idle') set('live');
    }
  }

  return {
    state: () => current,
    stream: (name) => ({
      report: (state) => {
        if (streams.get(name) === 'ended') return;
        streams.set(name, state);
        update();
      },
      closed: () => {
        streams.delete(name);
        update();
        // A lost connection stays lost until another stream is open.
        if (!some('live') && current !== 'reconnecting') set('idle');
      },
    }),
    lost: () => {
      for (const [name, state] of streams) if (state === 'live') streams.set(name, 'reconnecting');
      set('reconnecting');
    },
    expectEnd: (name) => {
      streams.set(name, 'ended');
      // It may have noticed its end already. Nothing was lost then, so that nothing is restored.
      if (!some('reconnecting') && current !== 'back') set(some('live') ? 'live' : 'idle');
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
