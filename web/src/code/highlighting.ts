// Highlights code in the background. What does it is loaded when code is shown for the first time. Without it, and until
// it is there, code is plain text: after an update of the service, a tab from before it may not find its files any more.
import { useEffect, useRef, useState } from 'react';
import type { CodeHint, Token } from './tokens.ts';

/** Longer texts stay plain. */
export const highlightedCharsMax = 60_000;
/** How many characters of highlighted code are remembered, so that code that is scrolled into view has its colours at once. */
const rememberedCharsMax = 1_000_000;
/** Text that is still being written is highlighted again after this time. */
const repeatMs = 250;

const none: readonly Token[] = [];
const remembered = new Map<string, readonly Token[]>();
let rememberedChars = 0;

function keyOf(text: string, hint: NonNullable<CodeHint>): string {
  return `${'path' in hint ? `/${hint.path.slice(hint.path.lastIndexOf('/') + 1)}` : hint.language}\n${text}`;
}

function remember(key: string, tokens: readonly Token[]): void {
  if (remembered.has(key)) return;
  remembered.set(key, tokens);
  rememberedChars += key.length;
  for (const oldest of remembered.keys()) {
    if (rememberedChars <= rememberedCharsMax) return;
    remembered.delete(oldest);
    rememberedChars -= oldest.length;
  }
}

/** A file that could not be loaded is not asked for again: the browser remembers that, too. */
const unavailable = new Set<string>();
/** One text at a time. */
let last: Promise<unknown> = Promise.resolve();

async function tokensFor(
  text: string,
  hint: NonNullable<CodeHint>,
  isWanted: () => boolean,
): Promise<readonly Token[] | undefined> {
  const key = keyOf(text, hint);
  const language = key.slice(0, key.indexOf('\n'));
  const before = last;
  const tokens = (async () => {
    await before;
    if (!isWanted()) return undefined;
    if (unavailable.has(language)) return none;
    try {
      const { tokenize } = await import('./tokenize.ts');
      return await tokenize(text, hint);
    } catch (error) {
      console.warn('Parley shows code without colours.', error);
      unavailable.add(language);
      return none;
    }
  })();
  last = tokens;
  const found = await tokens;
  if (found !== undefined) remember(key, found);
  return found;
}

interface Highlighted {
  readonly text: string;
  readonly tokens: readonly Token[];
}

/**
 * Returns the tokens of the text as soon as they are known. Until then, and while the text grows, they are those of
 * its beginning.
 */
export function useTokens(text: string, hint: CodeHint): readonly Token[] {
  const isShort = text.length <= highlightedCharsMax;
  const key = hint === undefined || !isShort || text === '' ? undefined : keyOf(text, hint);
  const known = key === undefined ? undefined : remembered.get(key);
  const [highlighted, setHighlighted] = useState<Highlighted>();
  const wanted = useRef<{ readonly text: string; readonly hint: NonNullable<CodeHint> }>(undefined);
  const isBusy = useRef(false);
  const isMounted = useRef(false);
  wanted.current =
    key === undefined || hint === undefined || known !== undefined ? undefined : { text, hint };

  useEffect(() => {
    isMounted.current = true;
    return () => {
      isMounted.current = false;
    };
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each new text has to be highlighted
  useEffect(() => {
    if (isBusy.current || wanted.current === undefined) return;
    isBusy.current = true;
    void (async () => {
      for (let next = wanted.current; next !== undefined && isMounted.current; next = wanted.current) {
        const { text: started, hint: by } = next;
        const tokens = await tokensFor(started, by, () => isMounted.current);
        if (tokens !== undefined) setHighlighted({ text: started, tokens });
        if (wanted.current?.text === started) break;
        await new Promise((resolve) => setTimeout(resolve, repeatMs));
      }
      isBusy.current = false;
    })();
  }, [key, known]);

  if (known !== undefined) return known;
  if (key === undefined || highlighted === undefined || !text.startsWith(highlighted.text)) return none;
  return highlighted.tokens;
}
