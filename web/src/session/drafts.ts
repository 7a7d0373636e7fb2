// The drafts of this tab, as a hook for the forms that edit them.
import { useCallback, useMemo, useState, useSyncExternalStore } from 'react';
import { createDraftOwner } from './draftOwner.ts';
import { createDraftStore, type DraftOptions } from './draftStore.ts';
import { tabStorage } from './tabStorage.ts';

const drafts = createDraftStore(tabStorage);

export const draftOwner = createDraftOwner({ storage: tabStorage, drafts });

export function anyDraft(test: (draft: Readonly<Record<string, unknown>>) => boolean): boolean {
  return drafts.names().some((name) => test(drafts.find(name) ?? {}));
}

/** The fields to change, or a function that computes them from the newest draft. */
export type DraftChange<Draft> = Partial<Draft> | ((newest: Draft) => Partial<Draft>);

export function resolveChange<Draft>(change: DraftChange<Draft>, newest: Draft): Partial<Draft> {
  return typeof change === 'function' ? change(newest) : change;
}

/** Uses the first `empty` and `options` only. After an await, call `newest` instead of using `draft`. */
export function useDraft<Draft extends object>(
  name: string,
  empty: Draft,
  options: DraftOptions<Draft> = {},
) {
  const [fixed] = useState({ empty, options });
  const stored = useSyncExternalStore(drafts.subscribe, () => drafts.find(name));
  const draft = useMemo(() => ({ ...fixed.empty, ...stored }) as Draft, [fixed, stored]);

  const newest = useCallback(() => ({ ...fixed.empty, ...drafts.find(name) }) as Draft, [fixed, name]);
  const change = useCallback(
    (part: DraftChange<Draft>) => {
      const before = newest();
      drafts.put(name, { ...before, ...resolveChange(part, before) }, fixed.options);
    },
    [fixed, name, newest],
  );
  const clear = useCallback(() => drafts.remove(name), [name]);
  return { draft, newest, change, clear };
}
