// A new tab asks the other tabs for their key, to sign in with it, or to notice that the key of a link belongs to
// somebody else. Only tabs of the same origin receive these messages.
import { useEffect } from 'react';
import type { SignInState } from './signInState.ts';
import { tabStorage } from './tabStorage.ts';

type ChannelMessage = { readonly asks: true } | { readonly key: string };

const channelName = 'parley.key';
const answerTimeoutMs = 250;
const signedOutKey = 'parley.signedOut';

/** Returns undefined if the browser forbids it, as it may together with storage. */
function openChannel(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(channelName);
  } catch {
    return undefined;
  }
}

/** Answers tabs that ask for the key, until the returned function is called. */
export function shareKey(key: string): () => void {
  const channel = openChannel();
  if (channel === undefined) return () => undefined;
  channel.onmessage = ({ data }: MessageEvent<ChannelMessage>) => {
    if ('asks' in data) channel.postMessage({ key } satisfies ChannelMessage);
  };
  return () => channel.close();
}

/** Asks the other tabs for their keys, and calls back once, when the time to answer is over. */
export function requestKeys(onKeys: (keys: ReadonlySet<string>) => void): () => void {
  const channel = openChannel();
  const keys = new Set<string>();
  if (channel === undefined) {
    onKeys(keys);
    return () => undefined;
  }
  channel.onmessage = ({ data }: MessageEvent<ChannelMessage>) => {
    if ('key' in data) keys.add(data.key);
  };
  channel.postMessage({ asks: true } satisfies ChannelMessage);
  const timer = setTimeout(() => {
    channel.close();
    onKeys(keys);
  }, answerTimeoutMs);
  return () => {
    clearTimeout(timer);
    channel.close();
  };
}

/** Keeps this tab signed out after a reload, even if somebody is signed in in another tab. */
export function staySignedOut(): void {
  tabStorage.set(signedOutKey, '1');
}

interface Handlers {
  readonly signIn: (key: string) => void;
  readonly otherTabsAnswered: (keys: ReadonlySet<string>) => void;
}

export function useOtherTabs(state: SignInState, { signIn, otherTabsAnswered }: Handlers): void {
  const { key, signedOutReason, keyToCheck, offeredKey, answer, answerError } = state;
  useEffect(() => {
    if (key !== undefined) {
      tabStorage.remove(signedOutKey);
      return shareKey(key);
    }
    if (keyToCheck !== undefined) return requestKeys(otherTabsAnswered);
    if (signedOutReason !== 'none' || offeredKey !== undefined) return undefined;
    // The user is signing in here, perhaps as somebody else.
    if (answer !== undefined || answerError !== undefined) return undefined;
    if (tabStorage.get(signedOutKey) !== undefined) return undefined;
    return requestKeys((keys) => {
      const [shared] = keys;
      // If the tabs have different keys, the user has to choose one.
      if (shared !== undefined && keys.size === 1) signIn(shared);
    });
  }, [key, signedOutReason, keyToCheck, offeredKey, answer, answerError, signIn, otherTabsAnswered]);
}
