// The session key of this tab. Not a cookie, which would go to every port of the host; not kept beyond the tab.
import { tabStorage } from './tabStorage.ts';

const stored = 'parley.key';
const inAddress = /^#key=(.+)$/;
/** What a header can carry: a browser sends nothing else, and says only that sending failed. */
const printable = /^[!-~]+$/;

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

/** Whether it can be one at all; whether it counts, the service knows. */
export function mayBeKey(text: string): boolean {
  return printable.test(text);
}

export function readKey(): string | undefined {
  return tabStorage.get(stored);
}

export function keepKey(key: string | undefined): void {
  if (key === undefined) tabStorage.remove(stored);
  else tabStorage.set(stored, key);
}
