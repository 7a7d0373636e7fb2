// Shows that the connection is lost or restored.
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { Icon } from '../components/Icon.tsx';
import { onReconnected, useConnectionState } from '../live/connection.ts';
import { refetchFailedQueries } from '../live/networkErrors.ts';
import { createProbe } from '../live/probe.ts';
import { useSession } from '../session/session.tsx';
import { useTexts } from '../texts/texts.tsx';

function subscribeToNetwork(onChange: () => void): () => void {
  addEventListener('online', onChange);
  addEventListener('offline', onChange);
  return () => {
    removeEventListener('online', onChange);
    removeEventListener('offline', onChange);
  };
}

const probeMs = 3_000;

function useProbe(): void {
  const { parley, connection } = useSession();
  useEffect(() => {
    const probe = createProbe({
      check: () => parley.server.ready({ signal: AbortSignal.timeout(probeMs) }),
      onLost: connection.lost,
      onFound: connection.restart,
      everyMs: probeMs,
    });
    const unsubscribe = subscribeToNetwork(() => {
      if (!navigator.onLine) return probe.start();
      // Existing connections may be dead after a change of network, even if the service can be reached.
      probe.stop();
      connection.restart();
    });
    return () => {
      unsubscribe();
      probe.stop();
    };
  }, [parley, connection]);
}

/** Repeats the queries that failed while the connection was lost. */
function useRefetchOnReconnect(): void {
  const { connection } = useSession();
  const queries = useQueryClient();
  useEffect(() => onReconnected(connection, () => refetchFailedQueries(queries)), [connection, queries]);
}

export function ConnectionBanner() {
  const { connection } = useSession();
  useProbe();
  useRefetchOnReconnect();
  const { shell } = useTexts();
  const state = useConnectionState(connection);
  const online = useSyncExternalStore(subscribeToNetwork, () => navigator.onLine);
  const lost = state === 'reconnecting';
  const text = lost
    ? online
      ? shell.connectionLost
      : shell.offline
    : state === 'back'
      ? shell.reconnected
      : '';
  return (
    <div className={`connection ${lost ? 'lost' : state}`} role="status">
      {text === '' ? null : (
        <>
          <Icon name={lost ? 'wifiOff' : 'check'} />
          {text}
        </>
      )}
    </div>
  );
}
