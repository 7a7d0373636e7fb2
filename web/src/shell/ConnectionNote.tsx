// Says that the connection is lost, and that it is there again.
import { useEffect, useSyncExternalStore } from 'react';
import { useConnectionState } from '../live/connection.ts';
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

/** A browser that is offline may still reach this machine, and its stream may hang for long: asked, the service tells. */
function useProbe(): void {
  const { parley, connection } = useSession();
  useEffect(() => {
    async function probe(): Promise<void> {
      try {
        await parley.server.ready({ signal: AbortSignal.timeout(probeMs) });
        if (connection.state() === 'reconnecting') connection.report('live');
      } catch {
        connection.report('reconnecting');
      }
    }
    return subscribe(() => void probe());
  }, [parley, connection]);
}

export function ConnectionNote() {
  const { connection } = useSession();
  useProbe();
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
