// A new tab asks the other tabs of this page for their key: to sign in with it, or to find out that the key of a link
// would sign somebody else in. Only pages of the same origin hear that, and only the new tab stores the key.
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

/** Asks the other tabs for their keys, and calls back once, after they had time to answer. */
export function askOtherTabs(onKeys: (keys: ReadonlySet<string>) => void): () => void {
  const channel = openChannel();
  const keys = new Set<string>();
  if (channel === undefined) {
    onKeys(keys);
    return () => undefined;
  }
  channel.onmessage = ({ data }: MessageEvent<Word>) => {
    if ('key' in data) keys.add(data.key);
  };
  channel.postMessage({ asks: true } satisfies Word);
  const timer = setTimeout(() => {
    channel.close();
    onKeys(keys);
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

interface Ways {
  readonly enter: (key: string) => void;
  readonly heard: (keys: ReadonlySet<string>) => void;
}

export function useOtherTabs({ key, why, checking, offered }: DoorState, { enter, heard }: Ways): void {
  useEffect(() => {
    if (key !== undefined) {
      tabStorage.remove(stored);
      return lendKey(key);
    }
    if (checking !== undefined) return askOtherTabs(heard);
    if (why !== 'none' || offered !== undefined || tabStorage.get(stored) !== undefined) return undefined;
    return askOtherTabs((keys) => {
      const [borrowed] = keys;
      // Where they have different keys nobody knows which one is meant.
      if (borrowed !== undefined && keys.size === 1) enter(borrowed);
    });
  }, [key, why, checking, offered, enter, heard]);
}
