// The session key of this tab. Not a cookie, which would go to every port of the host; not kept beyond the tab.

const stored = 'parley.key';
const inAddress = /^#key=(.+)$/;

/** Takes the key out of the address, so that it is in no history and on no screen. Undefined where there is none. */
export function takeKeyFromAddress(): string | undefined {
  const [, found] = inAddress.exec(location.hash) ?? [];
  if (found === undefined) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  try {
    return decodeURIComponent(found).trim();
  } catch {
    return found;
  }
}

export function readKey(): string | undefined {
  return sessionStorage.getItem(stored) ?? undefined;
}

export function keepKey(key: string | undefined): void {
  if (key === undefined) sessionStorage.removeItem(stored);
  else sessionStorage.setItem(stored, key);
}
