// Whether somebody is in, and by which key: how that follows from what was and what happens.
import { mayBeKey } from './key.ts';

/** `refused`: the service does not know the key, or no longer. */
type SignedOut = 'none' | 'refused';

export interface DoorState {
  readonly key: string | undefined;
  readonly why: SignedOut;
  /** Another key, of a link: whoever made it may not be who is in, so that it is asked about. */
  readonly offered?: string;
}

/** A text that cannot be sent as a key is refused before anybody asks. */
export function entered(key: string | undefined): DoorState {
  if (key !== undefined && !mayBeKey(key)) return { key: undefined, why: 'refused' };
  return { key, why: 'none' };
}

/** A link with a key was opened. */
export function offered(now: DoorState, key: string): DoorState {
  if (now.key === undefined) return entered(key);
  return key === now.key || !mayBeKey(key) ? now : { ...now, offered: key };
}

export function answered({ offered: other, ...now }: DoorState, wanted: boolean): DoorState {
  return wanted ? entered(other ?? now.key) : now;
}

/** Whoever has come in by another key meanwhile stays: what an old session learns is not about them. */
export function left(
  now: DoorState,
  { key, why }: { readonly key: string; readonly why: SignedOut },
): DoorState {
  if (now.key !== key) return now;
  return why === 'refused' && now.offered !== undefined ? entered(now.offered) : { key: undefined, why };
}
