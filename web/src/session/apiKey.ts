// The API key of this tab. It is not a cookie, which the browser would send to every port of the host.
import { tabStorage } from './tabStorage.ts';

const storageKey = 'parley.key';
const keyInHash = /^#key=(.+)$/;
/** A header carries only these characters. With others, the browser reports no more than a network error. */
const printable = /^[!-~]+$/;

/** Removes the key from the URL, so that it is in no history and on no screen. */
export function takeKeyFromUrl(): string | undefined {
  const [, found] = keyInHash.exec(location.hash) ?? [];
  if (found === undefined) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  try {
    return decodeURIComponent(found).trim();
  } catch {
    return found;
  }
}

/** Whether a request can carry the text as a key. Only the service knows whether it is valid. */
export function isPossibleKey(text: string): boolean {
  return printable.test(text);
}

/** The id of a session, which is part of its token; undefined for an API key. */
export function sessionIdOf(key: string): string | undefined {
  const [, digits] = /^ps_([0-9a-f]{16})_/.exec(key) ?? [];
  return digits === undefined ? undefined : `s${digits}`;
}

export function readKey(): string | undefined {
  return tabStorage.get(storageKey);
}

export function storeKey(key: string | undefined): void {
  if (key === undefined) tabStorage.remove(storageKey);
  else tabStorage.set(storageKey, key);
}
