// Asks before the key of a link replaces the one that somebody is signed in with, and shows whose keys these are.
import { useEffect, useState } from 'react';
import type { Me } from '../../../src/client/parley.ts';
import { Callout } from '../parts/Callout.tsx';
import { Dialog } from '../parts/Dialog.tsx';
import { visibleLine } from '../parts/visibleText.ts';
import { useTexts } from '../texts/texts.tsx';
import { clientFor, isRefused, useDoor } from './session.tsx';

type Identity = Me | 'invalid' | 'unknown' | undefined;

/** Undefined until the service has answered. */
function useIdentity(key: string | undefined): Identity {
  const [identity, setIdentity] = useState<Identity>();
  useEffect(() => {
    setIdentity(undefined);
    if (key === undefined) return;
    const ended = new AbortController();
    const { signal } = ended;
    clientFor(key)
      .keys.me({ signal })
      .then(setIdentity, (error) => {
        if (!signal.aborted) setIdentity(isRefused(error) ? 'invalid' : 'unknown');
      });
    return () => ended.abort();
  }, [key]);
  return identity;
}

function isKnown(identity: Identity): identity is Me {
  return typeof identity === 'object';
}

export function OtherKey() {
  const { signIn } = useTexts();
  const { key, otherTab, offered, answer } = useDoor();
  const own = useIdentity(offered === undefined ? undefined : (key ?? otherTab));
  const other = useIdentity(offered);
  if (offered === undefined) return null;
  const describe = ({ user, key_name: name }: Me, sentence: (user: string, key: string) => string) =>
    sentence(visibleLine(user), visibleLine(name));
  return (
    <Dialog
      title={signIn.otherTitle}
      onClose={() => answer(false)}
      footer={
        <>
          <button type="button" className="button" onClick={() => answer(false)}>
            {signIn.keepOwn}
          </button>
          <button
            type="button"
            className="button danger"
            disabled={other === undefined || other === 'invalid'}
            onClick={() => answer(true)}
          >
            {signIn.takeOther}
          </button>
        </>
      }
    >
      <p>{isKnown(own) ? describe(own, signIn.signedInAs) : signIn.signedIn}</p>
      {other === 'invalid' ? (
        <Callout kind="error">{signIn.otherInvalid}</Callout>
      ) : (
        <>
          <p>{isKnown(other) ? describe(other, signIn.otherIs) : signIn.otherUnknown}</p>
          <p>{signIn.otherText}</p>
        </>
      )}
    </Dialog>
  );
}
