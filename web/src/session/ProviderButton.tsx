// The button that leaves for the sign-in provider, if the service has one, and the moment after the return.
import { useEffect, useState } from 'react';
import type { SignInProvider } from '../../../src/client/parley.ts';
import { Loading } from '../components/Callout.tsx';
import { visibleLine } from '../components/visibleText.ts';
import { useTexts } from '../texts/texts.tsx';
import { draftOwner } from './drafts.ts';
import { finishSignIn, leaveForProvider, type ProviderAnswer, publicClient } from './providerSignIn.ts';
import { useSignIn } from './session.tsx';

type Provider = NonNullable<SignInProvider['provider']>;

/** Undefined until the service has answered, and if there is none. */
export function useProvider(): Provider | undefined {
  const [provider, setProvider] = useState<Provider>();
  useEffect(() => {
    const controller = new AbortController();
    publicClient.signIn.provider({ signal: controller.signal }).then(
      ({ provider: found }) => setProvider(found ?? undefined),
      // An API key works without it.
      () => undefined,
    );
    return () => controller.abort();
  }, []);
  return provider;
}

interface ButtonProps {
  readonly provider: Provider;
  readonly onError: (error: unknown) => void;
}

export function ProviderButton({ provider, onError }: ButtonProps) {
  const { signIn: texts } = useTexts();
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    // The browser shows this page again as it was, if the user comes back without an answer.
    const onShow = () => setBusy(false);
    addEventListener('pageshow', onShow);
    return () => removeEventListener('pageshow', onShow);
  }, []);

  async function leave() {
    // The provider sends people back to this URL, and another origin could not read the storage of this tab.
    if (location.origin !== provider.url) return location.assign(provider.url);
    setBusy(true);
    try {
      await leaveForProvider();
    } catch (error) {
      setBusy(false);
      onError(error);
    }
  }

  return (
    <button type="button" className="button primary" disabled={busy} onClick={() => void leave()}>
      {texts.withProvider(visibleLine(provider.name))}
    </button>
  );
}

/** Finishes the sign-in that this tab has begun. */
export function FinishSignIn({ answer }: { readonly answer: ProviderAnswer }) {
  const { signIn: texts } = useTexts();
  const { signIn, answerRefused } = useSignIn();
  useEffect(() => {
    finishSignIn(answer).then(({ token, user }) => {
      signIn(token, draftOwner.isUser(user));
      draftOwner.rememberUser(user);
    }, answerRefused);
  }, [answer, signIn, answerRefused]);
  return <Loading>{texts.finishing}</Loading>;
}
