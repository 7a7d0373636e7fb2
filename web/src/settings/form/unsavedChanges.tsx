// Asks before the user leaves a form with unsaved changes, or a secret that is shown only once.
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
import { Dialog } from '../../components/Dialog.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';

type Reason = 'unsaved' | 'shownOnce';

interface UnsavedForm {
  readonly reason: Reason;
  readonly discard: () => void;
}

interface BlockedNavigation {
  readonly reason: Reason;
  readonly resume: () => void;
}

type Register = (id: string, form: UnsavedForm | undefined) => void;

const GuardContext = createContext<Register>(() => {});

/** While `changed`, asks before the user leaves, and calls `discard` if they agree. */
export function useUnsavedChanges(changed: boolean, discard: () => void, reason: Reason = 'unsaved'): void {
  const register = useContext(GuardContext);
  const id = useId();
  const newest = useRef(discard);
  newest.current = discard;
  useEffect(() => {
    register(id, changed ? { reason, discard: () => newest.current() } : undefined);
    return () => register(id, undefined);
  }, [register, id, changed, reason]);
}

/** Returns the function that continues the navigation. */
function resumeNavigation(event: NavigateEvent, push: (path: string) => void): () => void {
  const { key, url } = event.destination;
  if (event.navigationType === 'traverse') return () => void navigation.traverseTo(key);
  const { pathname, search } = new URL(url);
  return () => push(pathname + search);
}

/** Blocks navigation by links, shortcuts and the buttons of the browser, and calls back with it. */
function useNavigationBlock(
  find: () => UnsavedForm | undefined,
  onBlocked: (blocked: BlockedNavigation) => void,
) {
  const [, push] = useLocation();
  const leaving = useRef(false);
  const callbacks = useRef({ find, onBlocked, push });
  callbacks.current = { find, onBlocked, push };
  useEffect(() => {
    // Browsers without this API do not ask. Drafts are kept all the same, but not secrets.
    if (!('navigation' in window)) return;
    const block = (event: NavigateEvent) => {
      const { find, onBlocked, push } = callbacks.current;
      const form = find();
      if (form === undefined || leaving.current || !event.cancelable) return;
      if (event.hashChange || !event.destination.sameDocument) return;
      event.preventDefault();
      onBlocked({ reason: form.reason, resume: resumeNavigation(event, push) });
    };
    navigation.addEventListener('navigate', block);
    return () => navigation.removeEventListener('navigate', block);
  }, []);
  return leaving;
}

/** Makes the browser ask before a reload or the closing of the tab. */
function useUnloadPrompt(find: () => UnsavedForm | undefined): void {
  useEffect(() => {
    const block = (event: BeforeUnloadEvent) => {
      if (find() !== undefined) event.preventDefault();
    };
    addEventListener('beforeunload', block);
    return () => removeEventListener('beforeunload', block);
  }, [find]);
}

export function UnsavedChangesGuard({ children }: { readonly children: ReactNode }) {
  const { leave: texts } = useSettingsTexts();
  const [blocked, setBlocked] = useState<BlockedNavigation>();
  const forms = useRef(new Map<string, UnsavedForm>());
  const register = useMemo<Register>(
    () => (id, form) => {
      if (form === undefined) forms.current.delete(id);
      else forms.current.set(id, form);
    },
    [],
  );
  const find = useMemo(() => () => forms.current.values().next().value, []);
  const leaving = useNavigationBlock(find, setBlocked);
  useUnloadPrompt(find);

  function leave({ resume }: BlockedNavigation) {
    for (const { discard } of forms.current.values()) discard();
    setBlocked(undefined);
    leaving.current = true;
    resume();
    leaving.current = false;
  }

  return (
    <GuardContext value={register}>
      {children}
      {blocked === undefined ? null : (
        <Dialog
          title={texts.title}
          onClose={() => setBlocked(undefined)}
          footer={
            <>
              <button type="button" className="button danger" onClick={() => leave(blocked)}>
                {texts.discard}
              </button>
              <button type="button" className="button primary" onClick={() => setBlocked(undefined)}>
                {texts.stay}
              </button>
            </>
          }
        >
          <p>{texts[blocked.reason]}</p>
        </Dialog>
      )}
    </GuardContext>
  );
}
