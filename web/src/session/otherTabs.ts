// A link that is opened in a new tab comes without a key: the new tab asks the others of this page, which lend it theirs.
// Browsers let only pages of the same origin hear that, and it is stored nowhere but in the new tab.
import { useEffect } from 'react';
import type { DoorState } from './door.ts';
import { tabStorage } from './tabStorage.ts';

type Word = { readonly asks: true } | { readonly key: string };

const channelName = 'parley.key';
/** So long a tab waits for answers. */
const answersMs = 250;
const stored = 'parley.signedOut';

/** Undefined where the browser forbids it, as some do with all that could be kept. */
function openChannel(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(channelName);
  } catch {
    return undefined;
  }
}

/** Answers whoever asks, until what it returns is called. */
export function lendKey(key: string): () => void {
  const channel = openChannel();
  if (channel === undefined) return () => undefined;
  channel.onmessage = ({ data }: MessageEvent<Word>) => {
    if ('asks' in data) channel.postMessage({ key } satisfies Word);
  };
  return () => channel.close();
}

/** Asks the others. Where they have different keys nobody knows which is meant, and none is taken. */
export function borrowKey(onKey: (key: string) => void): () => void {
  const channel = openChannel();
  if (channel === undefined) return () => undefined;
  const keys = new Set<string>();
  channel.onmessage = ({ data }: MessageEvent<Word>) => {
    if ('key' in data) keys.add(data.key);
  };
  channel.postMessage({ asks: true } satisfies Word);
  const timer = setTimeout(() => {
    channel.close();
    const [key] = keys;
    if (key !== undefined && keys.size === 1) onKey(key);
  }, answersMs);
  return () => {
    clearTimeout(timer);
    channel.close();
  };
}

/** Who has signed out in this tab stays out, also after a reload, whoever is in elsewhere. */
export function stayOut(): void {
  tabStorage.set(stored, '1');
}

export function useOtherTabs({ key, why }: DoorState, enter: (key: string) => void): void {
  useEffect(() => {
    if (key !== undefined) {
      tabStorage.remove(stored);
      return lendKey(key);
    }
    return why === 'none' && tabStorage.get(stored) === undefined ? borrowKey(enter) : undefined;
  }, [key, why, enter]);
}
