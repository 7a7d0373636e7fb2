// Marks the words of a search in the visible part of the timeline, without changing its elements.

/** More are not marked, so that a search for a single letter does not slow the page down. */
const rangesMax = 2_000;
const termsMax = 16;
const names = { all: 'search', current: 'search-current' } as const;

/** The words and phrases of a search, as the service reads them: `"empty line"` is one, and `pars*` begins a word. */
export function termsOf(query: string): string[] {
  const found = [...query.matchAll(/"([^"]+)"|([^\s"]+)/g)].map(([, phrase, word = '']) =>
    (phrase ?? word.replace(/\*+$/, '')).trim(),
  );
  return found.filter((term) => /[\p{L}\p{N}]/u.test(term)).slice(0, termsMax);
}

export function termPattern(terms: readonly string[]): RegExp | undefined {
  if (terms.length === 0) return undefined;
  const escaped = terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s+/g, '\\s+'));
  return new RegExp(escaped.join('|'), 'giu');
}

function rangesIn(root: Element, pattern: RegExp): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null && ranges.length < rangesMax; node = walker.nextNode())
    for (const { 0: text, index } of (node.nodeValue ?? '').matchAll(pattern)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + text.length);
      ranges.push(range);
    }
  return ranges;
}

/** Browsers without highlights show the item of a match, but do not mark its words. */
const isSupported = () => typeof CSS !== 'undefined' && 'highlights' in CSS;

export function clearMarks(): void {
  if (isSupported()) for (const name of Object.values(names)) CSS.highlights.delete(name);
}

/** Marks the terms in the list, and more strongly in the item that is shown as the target. */
export function markTerms(list: Element, terms: readonly string[]): void {
  const pattern = termPattern(terms);
  clearMarks();
  if (pattern === undefined || !isSupported()) return;
  CSS.highlights.set(names.all, new Highlight(...rangesIn(list, pattern)));
  const current = list.querySelector('.timeline-item.target');
  if (current === null) return;
  const strong = new Highlight(...rangesIn(current, pattern));
  strong.priority = 1;
  CSS.highlights.set(names.current, strong);
}
