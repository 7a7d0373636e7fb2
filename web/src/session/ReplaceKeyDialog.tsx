// Asks the user before the key of a link replaces their own, and shows whose keys these are.
import { useEffect, useState } from 'react';
import type { Me } from '../../../src/client/parley.ts';
import { Callout } from '../components/Callout.tsx';
import { Dialog } from '../components/Dialog.tsx';
import { visibleLine } from '../components/visibleText.ts';
import { useTexts } from '../texts/texts.tsx';
import { clientFor, isUnauthorized, useSignIn } from './session.tsx';

type Identity = Me | 'invalid' | 'unknown' | undefined;

/** Returns undefined until the service has answered. */
function useIdentity(key: string | undefined): Identity {
  const [identity, setIdentity] = useState<Identity>();
  useEffect(() => {
    setIdentity(undefined);
    if (key === undefined) return;
    const controller = new AbortController();
    const { signal } = controller;
    clientFor(key)
      .keys.me({ signal })
      .then(setIdentity, (error) => {
        if (!signal.aborted) setIdentity(isUnauthorized(error) ? 'invalid' : 'unknown');
      });
    return () => controller.abort();
  }, [key]);
  return identity;
}

function isKnown(identity: Identity): identity is Me {
  return typeof identity === 'object';
}

export function ReplaceKeyDialog() {
  const { signIn } = useTexts();
  const { key, otherTabKey, offeredKey, answerOffer } = useSignIn();
  const own = useIdentity(offeredKey === undefined ? undefined : (key ?? otherTabKey));
  const other = useIdentity(offeredKey);
  if (offeredKey === undefined) return null;
  const describe = ({ user, key_name: name }: Me, sentence: (user: string, key: string) => string) =>
    sentence(visibleLine(user), visibleLine(name));
  return (
    <Dialog
      title={signIn.otherKeyTitle}
      onClose={() => answerOffer(false)}
      footer={
        <>
          <button type="button" className="button" onClick={() => answerOffer(false)}>
            {signIn.keepOwnKey}
          </button>
          {other === 'invalid' ? null : (
            <button
              type="button"
              className="button danger"
              disabled={other === undefined}
              onClick={() => answerOffer(true)}
            >
              {signIn.useOtherKey}
            </button>
          )}
        </>
      }
    >
      <p>{isKnown(own) ? describe(own, signIn.signedInAs) : signIn.signedIn}</p>
      {other === 'invalid' ? (
        <Callout kind="error">{signIn.otherKeyInvalid}</Callout>
      ) : (
        <>
          <p>{isKnown(other) ? describe(other, signIn.otherKeyOf) : signIn.otherKeyUnknown}</p>
          <p>{signIn.otherKeyText}</p>
        </>
      )}
    </Dialog>
  );
}
