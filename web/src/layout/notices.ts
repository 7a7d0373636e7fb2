// A short notice of what was just done, such as "Archived", wherever in the web UI it was done.
import { useSyncExternalStore } from 'react';

export interface Notice {
  readonly text: string;
  readonly undo?: () => void;
}

let current: Notice | undefined;
const listeners = new Set<() => void>();

/** Replaces the notice that is shown; undefined removes it. */
export function showNotice(notice: Notice | undefined): void {
  current = notice;
  for (const listener of listeners) listener();
}

export function useNotice(): Notice | undefined {
  return useSyncExternalStore(
    (onChange) => {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
    () => current,
  );
}
