// The states of signing in, as pure functions: who is signed in, with which key, and what follows from each event.
import { isPossibleKey, sessionIdOf } from './apiKey.ts';
import type { ProviderAnswer } from './providerSignIn.ts';

/** `refused`: the service does not accept the key, or no longer does. `ended`: the same for a session. */
type SignedOutReason = 'none' | 'refused' | 'ended';

export interface SignInState {
  readonly key: string | undefined;
  readonly signedOutReason: SignedOutReason;
  /** The key of a link that was opened while nobody is signed in here. The other tabs are asked for their keys first. */
  readonly keyToCheck?: string;
  /** The key of a link that was opened while somebody is signed in with another key. They must agree to the change. */
  readonly offeredKey?: string;
  /** The key that the other tabs use, if nobody is signed in in this one. */
  readonly otherTabKey?: string;
  /** The answer of the sign-in provider, until it is exchanged for a session. */
  readonly answer?: ProviderAnswer;
  /** Why the answer was refused. */
  readonly answerError?: unknown;
}

export interface SignOut {
  readonly key: string;
  readonly reason: 'none' | 'refused';
}

/** A text that cannot be sent as a key is refused without a request. */
export function signedInWith(key: string | undefined): SignInState {
  if (key !== undefined && !isPossibleKey(key)) return { key: undefined, signedOutReason: 'refused' };
  return { key, signedOutReason: 'none' };
}

export function linkOpened(state: SignInState, key: string): SignInState {
  if (state.key !== undefined)
    return key === state.key || !isPossibleKey(key) ? state : { ...state, offeredKey: key };
  return isPossibleKey(key) ? { ...signedInWith(undefined), keyToCheck: key } : signedInWith(key);
}

export function otherTabsAnswered(state: SignInState, keys: ReadonlySet<string>): SignInState {
  const { keyToCheck } = state;
  if (keyToCheck === undefined) return state;
  if (keys.size === 0 || keys.has(keyToCheck)) return signedInWith(keyToCheck);
  const [otherTabKey] = keys;
  const other = keys.size === 1 && otherTabKey !== undefined ? { otherTabKey } : {};
  return { ...signedInWith(undefined), offeredKey: keyToCheck, ...other };
}

export function offerAnswered(
  { key, offeredKey, otherTabKey }: SignInState,
  isAccepted: boolean,
): SignInState {
  return signedInWith(isAccepted ? (offeredKey ?? key) : (key ?? otherTabKey));
}

/** Somebody who is signed in has not waited for an answer, so that it is not theirs. */
export function returnedFromProvider(state: SignInState, answer: ProviderAnswer | undefined): SignInState {
  return answer === undefined || state.key !== undefined ? state : { ...state, answer };
}

const isSession = (key: string) => sessionIdOf(key) !== undefined;

/** A sign-out that arrives late does not affect a key that has replaced its own. */
export function signedOut(state: SignInState, { key, reason }: SignOut): SignInState {
  if (state.key !== key) return state;
  return reason === 'refused' && state.offeredKey !== undefined
    ? signedInWith(state.offeredKey)
    : { key: undefined, signedOutReason: reason === 'refused' && isSession(key) ? 'ended' : reason };
}
