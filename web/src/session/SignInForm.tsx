// The form for an API key, for users who did not open a sign-in link, and the button of the sign-in provider.
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { ParleyError } from '../../../src/client/parley.ts';
import { Callout, ErrorCallout } from '../components/Callout.tsx';
import { useTexts } from '../texts/texts.tsx';
import { isPossibleKey } from './apiKey.ts';
import { draftOwner } from './drafts.ts';
import { ProviderButton, useProvider } from './ProviderButton.tsx';
import { clientFor, isUnauthorized, useSignIn } from './session.tsx';
import { isThisMachine } from './thisMachine.ts';

/** Throws if the service does not accept the key. A key without the right to read settings is valid, too. */
async function checkKey(key: string): Promise<void> {
  try {
    await clientFor(key).settings.get();
  } catch (error) {
    if (error instanceof ParleyError && error.code === 'forbidden') return;
    throw error;
  }
}

/** The ids of all keys of the same user. */
async function keyIdsOf(key: string): Promise<readonly string[]> {
  return (await clientFor(key).keys.list()).keys.map(({ id }) => id);
}

export function SignInForm() {
  const { signIn: texts } = useTexts();
  const { signedOutReason, answerError, signIn } = useSignIn();
  const provider = useProvider();
  const [key, setKey] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(signedOutReason === 'none' ? answerError : signedOutReason);
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  function refuse(reason: unknown) {
    setError(reason);
    setBusy(false);
    field.current?.focus();
  }

  async function submit(event: FormEvent) {
    event.preventDefault();
    const wanted = key.trim();
    if (wanted === '') return refuse('empty');
    if (!isPossibleKey(wanted)) return refuse('refused');
    setBusy(true);
    try {
      await checkKey(wanted);
      signIn(wanted, await draftOwner.isOwner(wanted, () => keyIdsOf(wanted)));
    } catch (error) {
      refuse(isUnauthorized(error) ? 'refused' : error);
    }
  }

  return (
    <main className="sign-in">
      <form onSubmit={submit} noValidate>
        <h1>{texts.title}</h1>
        <p className="muted">{provider === undefined ? texts.lead : texts.leadWithProvider}</p>
        {provider === undefined ? null : (
          <>
            <ProviderButton provider={provider} onError={setError} />
            <p className="or muted">{texts.or}</p>
          </>
        )}
        <div className="field">
          <label htmlFor={id}>{texts.key}</label>
          <input
            ref={field}
            id={id}
            className="input mono"
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={key}
            aria-invalid={error === 'refused' || error === 'empty'}
            aria-describedby={`${id}-hint`}
            onChange={(event) => setKey(event.target.value)}
          />
          <p id={`${id}-hint`} className="hint">
            {isThisMachine(location.hostname) ? texts.hintHere : texts.hint}
          </p>
        </div>
        {error === 'refused' || error === 'empty' || error === 'ended' ? (
          <Callout kind="error">{texts[error]}</Callout>
        ) : (
          <ErrorCallout error={error} />
        )}
        <button
          type="submit"
          className={provider === undefined ? 'button primary' : 'button'}
          disabled={busy}
        >
          {texts.submit}
        </button>
      </form>
    </main>
  );
}
