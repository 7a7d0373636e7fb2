// What the highlighter finds in code: the kinds of tokens, each of which has a colour.

/** The names are also those of the colours in tokens.css. */
export const tokenKinds = [
  'keyword',
  'string',
  'number',
  'comment',
  'function',
  'type',
  'property',
  'meta',
] as const;
export type TokenKind = (typeof tokenKinds)[number];

/** Tokens are sorted and do not overlap; what is between them is plain. */
export interface Token {
  readonly from: number;
  readonly to: number;
  readonly kind: TokenKind;
}

/**
 * How the language of a text is known: by its name, as after the fence of a code block, or by the name of its file.
 * It is undefined for text that is not code.
 */
export type CodeHint = { readonly language: string } | { readonly path: string } | undefined;

/** A part of a text: plain, or a token. */
export interface Segment {
  readonly text: string;
  readonly kind: TokenKind | undefined;
}

/** Splits `text[from, to)` into tokens and what is between them. */
export function segmentsOf(text: string, tokens: readonly Token[], from = 0, to = text.length): Segment[] {
  const found: Segment[] = [];
  let at = from;
  const add = (end: number, kind: TokenKind | undefined) => {
    if (end > at) found.push({ text: text.slice(at, end), kind });
    at = Math.max(at, end);
  };
  for (const token of tokens) {
    if (token.to <= from) continue;
    if (token.from >= to) break;
    add(Math.min(token.from, to), undefined);
    add(Math.min(token.to, to), token.kind);
  }
  add(to, undefined);
  return found;
}

/** The segments of each line, without the line breaks. */
export function segmentsByLine(text: string, tokens: readonly Token[]): Segment[][] {
  const lines: Segment[][] = [];
  let first = 0;
  let from = 0;
  for (const line of text.split('\n')) {
    const to = from + line.length;
    while (first < tokens.length && (tokens[first]?.to ?? 0) <= from) first++;
    let last = first;
    while (last < tokens.length && (tokens[last]?.from ?? 0) < to) last++;
    lines.push(segmentsOf(text, tokens.slice(first, last), from, to));
    from = to + 1;
  }
  return lines;
}
