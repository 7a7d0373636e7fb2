// The panes of the conversation screen: which one is active, and how others open a conversation in it.
import { createContext, useCallback, useEffect, useMemo, useSyncExternalStore } from 'react';
import { useLocation, useSearch } from 'wouter';
import type { Action } from '../components/Menu.tsx';
import { eventHref } from '../conversation/timeline/eventLinks.ts';
import { openBeside, openIn, panesUrl, readPanes } from './paneUrls.ts';

/** False in a pane that is not active, whose shortcuts are off. */
export const ActivePane = createContext(true);

interface PaneState {
  /** The pane that had the focus last. */
  readonly wanted: number;
  /** Grows when the active pane shall get the focus. */
  readonly focusCount: number;
}

function createStore<Value>(first: Value) {
  const listeners = new Set<() => void>();
  let value = first;
  return {
    get: () => value,
    set: (next: Value) => {
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe: (onChange: () => void) => {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  };
}

const state = createStore<PaneState>({ wanted: 0, focusCount: 0 });
const activeActions = createStore<readonly Action[]>([]);

export function activatePane(pane: number): void {
  if (state.get().wanted !== pane) state.set({ ...state.get(), wanted: pane });
}

/** Publishes what can be done with the conversation, while the component is mounted and its pane is active. */
export function useOfferActions(actions: readonly Action[], isActive: boolean): void {
  useEffect(() => {
    if (!isActive) return;
    activeActions.set(actions);
    return () => activeActions.set([]);
  }, [actions, isActive]);
}

/** What can be done with the conversation in the active pane. */
export function useActiveActions(): readonly Action[] {
  return useSyncExternalStore(activeActions.subscribe, activeActions.get);
}

function activeOf(ids: readonly string[], { wanted }: PaneState): number {
  return Math.min(wanted, Math.max(0, ids.length - 1));
}

/** The functions are stable, and use the panes of the moment when they are called. */
function usePaneCommands() {
  const [, go] = useLocation();
  const change = useCallback(
    (next: (ids: readonly string[], active: number) => readonly string[], id?: string, eventId?: number) => {
      const before = readPanes(location.pathname, location.search);
      const after = next(before, activeOf(before, state.get()));
      const wanted = id === undefined ? 0 : Math.max(0, after.indexOf(id));
      state.set({ wanted, focusCount: state.get().focusCount + 1 });
      // A link to an event is one to the first conversation of the URL.
      const hash = eventId === undefined || after[0] !== id ? '' : eventHref(eventId);
      const url = `${panesUrl(after)}${hash}`;
      if (url !== location.pathname + location.search + location.hash) go(url);
    },
    [go],
  );
  return useMemo(
    () => ({
      /** Scrolls to the event, if the pane can. */
      open: (id: string, eventId?: number) => change((ids, active) => openIn(ids, active, id), id, eventId),
      openBeside: (id: string) => change((ids, active) => openBeside(ids, active, id), id),
      close: (id: string) => change((ids) => ids.filter((open) => open !== id)),
    }),
    [change],
  );
}

export function usePanes() {
  const [path] = useLocation();
  const search = useSearch();
  const panes = useSyncExternalStore(state.subscribe, state.get);
  const ids = useMemo(() => readPanes(path, search), [path, search]);
  const active = activeOf(ids, panes);
  return {
    /** The open conversations, from left to right. */
    ids,
    active,
    activeId: ids[active],
    focusCount: panes.focusCount,
    ...usePaneCommands(),
  };
}
