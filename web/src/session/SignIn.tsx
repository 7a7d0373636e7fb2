// The form for a session key, for whoever did not come by a link that holds one.
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { ParleyError } from '../../../src/client/parley.ts';
import { Callout, ErrorCallout } from '../parts/Callout.tsx';
import { useTexts } from '../texts/texts.tsx';
import { typist } from './drafts.ts';
import { mayBeKey } from './key.ts';
import { clientFor, isRefused, useDoor } from './session.tsx';

/** Throws where the service does not know the key. One that may not read settings is a key, too. */
async function check(key: string): Promise<void> {
  try {
    await clientFor(key).settings.get();
  } catch (error) {
    if (error instanceof ParleyError && error.code === 'forbidden') return;
    throw error;
  }
}

/** Of all keys of who has this one. */
async function keyIdsOf(key: string): Promise<readonly string[]> {
  return (await clientFor(key).keys.list()).keys.map(({ id }) => id);
}

export function SignIn() {
  const { signIn } = useTexts();
  const { why, enter } = useDoor();
  const [key, setKey] = useState('');
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>(why === 'refused' ? 'refused' : undefined);
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  function refuse(reason: unknown) {
    setFault(reason);
    setBusy(false);
    field.current?.focus();
  }

  async function submit(event: FormEvent) {
    event.preventDefault();
    const wanted = key.trim();
    if (wanted === '') return refuse('empty');
    if (!mayBeKey(wanted)) return refuse('refused');
    setBusy(true);
    try {
      await check(wanted);
      enter(wanted, await typist.isBack(wanted, () => keyIdsOf(wanted)));
    } catch (error) {
      refuse(isRefused(error) ? 'refused' : error);
    }
  }

  return (
    <main className="sign-in">
      <form onSubmit={submit} noValidate>
        <h1>{signIn.title}</h1>
        <p className="quiet">{signIn.lead}</p>
        <div className="field">
          <label htmlFor={id}>{signIn.key}</label>
          <input
            ref={field}
            id={id}
            className="input mono"
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={key}
            aria-invalid={fault !== undefined}
            aria-describedby={`${id}-hint`}
            onChange={(event) => setKey(event.target.value)}
          />
          <p id={`${id}-hint`} className="hint">
            {signIn.hint}
          </p>
        </div>
        {fault === 'refused' || fault === 'empty' ? (
          <Callout kind="error">{signIn[fault]}</Callout>
        ) : (
          <ErrorCallout error={fault} />
        )}
        <button type="submit" className="button primary" disabled={busy}>
          {signIn.submit}
        </button>
      </form>
    </main>
  );
}
