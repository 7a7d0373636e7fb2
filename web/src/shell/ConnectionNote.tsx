// Says that the connection is lost, and that it is there again.
import { useSyncExternalStore } from 'react';
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

export function ConnectionNote() {
  const { connection } = useSession();
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
