// The drafts of this tab, for the parts of the page in which somebody types.
import { useCallback, useMemo, useState, useSyncExternalStore } from 'react';
import { createDraftStore, type DraftOptions } from './draftStore.ts';
import { tabStorage } from './tabStorage.ts';
import { createTypist } from './typist.ts';

const drafts = createDraftStore(tabStorage);

/** Everything that was typed is for the one who typed it. */
export const typist = createTypist({ storage: tabStorage, drafts });

/** Of all parts of the page. */
export function someDraft(test: (draft: Readonly<Record<string, unknown>>) => boolean): boolean {
  return drafts.names().some((name) => test(drafts.find(name) ?? {}));
}

/** Some part of a draft, or how it follows from the newest draft. */
export type DraftChange<Draft> = Partial<Draft> | ((newest: Draft) => Partial<Draft>);

export function toPart<Draft>(change: DraftChange<Draft>, newest: Draft): Partial<Draft> {
  return typeof change === 'function' ? change(newest) : change;
}

/** `empty` and the options are those of the first time. `newest` is for whoever has waited for something. */
export function useDraft<Draft extends object>(
  name: string,
  empty: Draft,
  options: DraftOptions<Draft> = {},
) {
  const [fixed] = useState({ empty, options });
  const typed = useSyncExternalStore(drafts.subscribe, () => drafts.find(name));
  const draft = useMemo(() => ({ ...fixed.empty, ...typed }) as Draft, [fixed, typed]);

  const newest = useCallback(() => ({ ...fixed.empty, ...drafts.find(name) }) as Draft, [fixed, name]);
  const change = useCallback(
    (part: DraftChange<Draft>) => {
      const before = newest();
      drafts.put(name, { ...before, ...toPart(part, before) }, fixed.options);
    },
    [fixed, name, newest],
  );
  const clear = useCallback(() => drafts.remove(name), [name]);
  return { draft, newest, change, clear };
}
