// Who is signed in, and by which key: how that follows from what was and what happens.
import { mayBeKey } from './key.ts';

/** `refused`: the service does not know the key, or no longer. */
type SignedOut = 'none' | 'refused';

export interface DoorState {
  readonly key: string | undefined;
  readonly why: SignedOut;
  /** The key of a link in a tab where nobody is signed in: the other tabs are asked about theirs first. */
  readonly checking?: string;
  /** The key of a link, while somebody is signed in with another: they are asked before it changes. */
  readonly offered?: string;
  /** The key of the other tabs, where nobody is signed in in this one. */
  readonly otherTab?: string;
}

/** A text that cannot be sent as a key is refused before anybody asks. */
export function entered(key: string | undefined): DoorState {
  if (key !== undefined && !mayBeKey(key)) return { key: undefined, why: 'refused' };
  return { key, why: 'none' };
}

/** A link with a key was opened. */
export function offered(now: DoorState, key: string): DoorState {
  if (now.key === undefined) return mayBeKey(key) ? { ...entered(undefined), checking: key } : entered(key);
  return key === now.key || !mayBeKey(key) ? now : { ...now, offered: key };
}

/** The other tabs have said which keys they have. */
export function heard(now: DoorState, keys: ReadonlySet<string>): DoorState {
  const { checking } = now;
  if (checking === undefined) return now;
  if (keys.size === 0 || keys.has(checking)) return entered(checking);
  const [otherTab] = keys;
  const known = keys.size === 1 && otherTab !== undefined ? { otherTab } : {};
  return { ...entered(undefined), offered: checking, ...known };
}

export function answered({ key, offered: other, otherTab }: DoorState, wanted: boolean): DoorState {
  return entered(wanted ? (other ?? key) : (key ?? otherTab));
}

/** A session that ends late says nothing about a key that has replaced its own. */
export function left(
  now: DoorState,
  { key, why }: { readonly key: string; readonly why: SignedOut },
): DoorState {
  if (now.key !== key) return now;
  return why === 'refused' && now.offered !== undefined ? entered(now.offered) : { key: undefined, why };
}
