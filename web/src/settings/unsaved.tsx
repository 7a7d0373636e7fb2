// Asks before somebody leaves a form with changes that are not saved, or a text that is shown only once.
import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../parts/Dialog.tsx';
import { useSettingsTexts } from '../texts/settings/texts.ts';

type Why = 'unsaved' | 'shownOnce';

interface Kept {
  readonly why: Why;
  readonly discard: () => void;
}

interface Wanted {
  readonly why: Why;
  readonly go: () => void;
}

type Register = (id: string, kept: Kept | undefined) => void;

const GuardContext = createContext<Register>(() => {});

/** While `changed`, leaving asks first; `discard` is called where it goes ahead. */
export function useUnsaved(changed: boolean, discard: () => void, why: Why = 'unsaved'): void {
  const register = useContext(GuardContext);
  const id = useId();
  const newest = useRef(discard);
  newest.current = discard;
  useEffect(() => {
    register(id, changed ? { why, discard: () => newest.current() } : undefined);
    return () => register(id, undefined);
  }, [register, id, changed, why]);
}

/** How to go where the browser was about to go. */
function goingOn(event: NavigateEvent, push: (path: string) => void): () => void {
  const { key, url } = event.destination;
  if (event.navigationType === 'traverse') return () => void navigation.traverseTo(key);
  const { pathname, search } = new URL(url);
  return () => push(pathname + search);
}

/** Moves within the page: links, shortcuts and the browser's own buttons. Calls back with what was held up. */
function useHeldMoves(find: () => Kept | undefined, onHeld: (wanted: Wanted) => void) {
  const [, push] = useLocation();
  const leaving = useRef(false);
  const parts = useRef({ find, onHeld, push });
  parts.current = { find, onHeld, push };
  useEffect(() => {
    // Where a browser does not have it, what was typed is kept all the same, but for secrets.
    if (!('navigation' in window)) return;
    const hold = (event: NavigateEvent) => {
      const { find, onHeld, push } = parts.current;
      const kept = find();
      if (kept === undefined || leaving.current || !event.cancelable) return;
      if (event.hashChange || !event.destination.sameDocument) return;
      event.preventDefault();
      onHeld({ why: kept.why, go: goingOn(event, push) });
    };
    navigation.addEventListener('navigate', hold);
    return () => navigation.removeEventListener('navigate', hold);
  }, []);
  return leaving;
}

/** Reloads and closing: the browser asks in its own words. */
function useHeldTab(find: () => Kept | undefined): void {
  useEffect(() => {
    const hold = (event: BeforeUnloadEvent) => {
      if (find() !== undefined) event.preventDefault();
    };
    addEventListener('beforeunload', hold);
    return () => removeEventListener('beforeunload', hold);
  }, [find]);
}

export function UnsavedGuard({ children }: { readonly children: ReactNode }) {
  const { leave } = useSettingsTexts();
  const [wanted, setWanted] = useState<Wanted>();
  const all = useRef(new Map<string, Kept>());
  const register = useMemo<Register>(
    () => (id, kept) => {
      if (kept === undefined) all.current.delete(id);
      else all.current.set(id, kept);
    },
    [],
  );
  const find = useMemo(() => () => all.current.values().next().value, []);
  const leaving = useHeldMoves(find, setWanted);
  useHeldTab(find);

  function goOn({ go }: Wanted) {
    for (const { discard } of all.current.values()) discard();
    setWanted(undefined);
    leaving.current = true;
    go();
    leaving.current = false;
  }

  return (
    <GuardContext value={register}>
      {children}
      {wanted === undefined ? null : (
        <Dialog
          title={leave.title}
          onClose={() => setWanted(undefined)}
          footer={
            <>
              <button type="button" className="button danger" onClick={() => goOn(wanted)}>
                {leave.discard}
              </button>
              <button type="button" className="button primary" onClick={() => setWanted(undefined)}>
                {leave.stay}
              </button>
            </>
          }
        >
          <p>{leave[wanted.why]}</p>
        </Dialog>
      )}
    </GuardContext>
  );
}
