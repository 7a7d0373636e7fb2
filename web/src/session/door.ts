// Whether somebody is in, and by which key: how that follows from what was and what happens.
import { mayBeKey } from './key.ts';

/** `refused`: the service does not know the key, or no longer. */
type SignedOut = 'none' | 'refused';

export interface DoorState {
  readonly key: string | undefined;
  readonly why: SignedOut;
}

/** A text that cannot be sent as a key is refused before anybody asks. */
export function entered(key: string | undefined): DoorState {
  if (key !== undefined && !mayBeKey(key)) return { key: undefined, why: 'refused' };
  return { key, why: 'none' };
}

/** Whoever has come in by another key meanwhile stays: what an old session learns is not about them. */
export function left(
  now: DoorState,
  { key, why }: { readonly key: string; readonly why: SignedOut },
): DoorState {
  return now.key === key ? { key: undefined, why } : now;
}
