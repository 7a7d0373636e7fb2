// Says that the connection is lost, and that it is there again.
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { onConnectedAgain, useConnectionState } from '../live/connection.ts';
import { readFailedAgain } from '../live/faults.ts';
import { createProbe } from '../live/probe.ts';
import { Icon } from '../parts/Icon.tsx';
import { useSession } from '../session/session.tsx';
import { useTexts } from '../texts/texts.tsx';

function subscribe(onChange: () => void): () => void {
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
      ask: () => parley.server.ready({ signal: AbortSignal.timeout(probeMs) }),
      onLost: () => connection.report('reconnecting'),
      onFound: connection.restart,
      everyMs: probeMs,
    });
    const end = subscribe(() => {
      if (!navigator.onLine) return probe.start();
      // With another network what was connected may be dead, whatever could be reached.
      probe.end();
      connection.restart();
    });
    return () => {
      end();
      probe.end();
    };
  }, [parley, connection]);
}

/** What could not be read meanwhile is read again. */
function useReadAgain(): void {
  const { connection } = useSession();
  const queries = useQueryClient();
  useEffect(() => onConnectedAgain(connection, () => readFailedAgain(queries)), [connection, queries]);
}

export function ConnectionNote() {
  const { connection } = useSession();
  useProbe();
  useReadAgain();
  const { shell } = useTexts();
  const state = useConnectionState(connection);
  const online = useSyncExternalStore(subscribe, () => navigator.onLine);
  const lost = state === 'reconnecting';
  const text = lost ? (online ? shell.lost : shell.offline) : state === 'back' ? shell.back : '';
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
