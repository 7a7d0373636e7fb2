// Items for text that is still being written.
import type { OpenText, ParleyEvent } from '../../../../src/client/parley.ts';
import type { Item } from '../items.ts';

/** Events have ids from 0 on. */
const unfinishedId = -1;

/**
 * Gives a text and the event that replaces it the same key. A message may be logged in parts: each is an item of its
 * own, which begins where the last one ended.
 */
export function createTextKeys() {
  /** By message, where the part begins that is not in the log yet. */
  const starts = new Map<string, number>();
  const keyAt = (of: string) => ({ key: `${of} ${starts.get(of) ?? 0}` });

  return {
    ofEvent: (event: Extract<ParleyEvent, { type: 'action.message' | 'action.think' }>) => {
      const { partial, replayed } = event;
      if (partial === undefined || replayed === true) return {};
      const key = keyAt(partial.of);
      starts.set(partial.of, partial.to);
      return key;
    },
    ofText: ({ of }: OpenText) => keyAt(of),
  };
}

export function unfinishedItem({ kind, text }: OpenText, { key }: { readonly key: string }): Item {
  const common = { id: unfinishedId, key, at: undefined, replayed: false, isUnfinished: true };
  if (kind === 'thought') return { ...common, kind, text };
  return { ...common, kind: 'message', from: 'agent', text, images: [], files: [], isQueued: false };
}
