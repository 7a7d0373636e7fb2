// What somebody has typed and not sent, kept for as long as the tab: it outlives a reload and every error.
import { useCallback, useRef, useState } from 'react';

const prefix = 'parley.draft.';

function read<Draft>(name: string, empty: Draft): Draft {
  try {
    const text = sessionStorage.getItem(prefix + name);
    return text === null ? empty : { ...empty, ...(JSON.parse(text) as Partial<Draft>) };
  } catch {
    return empty;
  }
}

/** False where there is no room for it. */
function write(name: string, draft: object | undefined): boolean {
  try {
    if (draft === undefined) sessionStorage.removeItem(prefix + name);
    else sessionStorage.setItem(prefix + name, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

/** Everything that was typed is for the one who typed it. */
export function forgetDrafts(): void {
  for (const name of Object.keys(sessionStorage).filter((key) => key.startsWith(prefix)))
    sessionStorage.removeItem(name);
}

/** `large` names members that may be left out where the browser has no room, such as images. */
export function useDraft<Draft extends object>(
  name: string,
  empty: Draft,
  large: readonly (keyof Draft)[] = [],
) {
  const [draft, setDraft] = useState(() => read(name, empty));
  const fixed = useRef({ empty, large });

  const change = useCallback(
    (part: Partial<Draft>) =>
      setDraft((before) => {
        const after = { ...before, ...part };
        const { empty, large } = fixed.current;
        if (!write(name, after)) {
          const small = { ...after };
          for (const member of large) small[member] = empty[member];
          write(name, small);
        }
        return after;
      }),
    [name],
  );
  const clear = useCallback(() => {
    write(name, undefined);
    setDraft(fixed.current.empty);
  }, [name]);
  return { draft, change, clear };
}
