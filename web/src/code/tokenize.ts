// Finds the tokens of code with the parsers of CodeMirror. This module is loaded when the first code is shown, and each
// language when it is needed. It works in short slices, so that the page stays responsive.
import { LanguageDescription } from '@codemirror/language';
import { languages } from '@codemirror/language-data';
import type { Parser, Tree } from '@lezer/common';
import { highlightTree, type Tag, tagHighlighter, tags } from '@lezer/highlight';
import type { CodeHint, Token, TokenKind } from './tokens.ts';

/** How long a slice of parsing may take before other work gets its turn. */
const sliceMs = 5;
/** A slice starts within this time, even if the browser is never idle. */
const idleWithinMs = 200;
/** Parsing is given up after this time of work: the text stays plain. */
const workMsMax = 1_500;
/** The rest of a text with more tokens stays plain, because each one is an element. */
const tokensMax = 6_000;

const tagsByKind: Readonly<Record<TokenKind, readonly Tag[]>> = {
  keyword: [tags.keyword, tags.modifier, tags.operatorKeyword, tags.self, tags.heading],
  string: [tags.string, tags.regexp, tags.character, tags.inserted, tags.monospace],
  number: [tags.number, tags.bool, tags.null, tags.atom, tags.color, tags.literal],
  comment: [tags.comment, tags.quote],
  function: [
    tags.function(tags.variableName),
    tags.function(tags.propertyName),
    tags.macroName,
    tags.link,
    tags.url,
  ],
  type: [tags.typeName, tags.className, tags.namespace, tags.tagName],
  property: [tags.propertyName, tags.attributeName, tags.labelName, tags.deleted],
  meta: [tags.meta, tags.annotation, tags.processingInstruction, tags.escape, tags.changed],
};

const highlighter = tagHighlighter(
  Object.entries(tagsByKind).flatMap(([kind, found]) => found.map((tag) => ({ tag, class: kind }))),
);

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function describe(hint: NonNullable<CodeHint>): LanguageDescription | null {
  if ('path' in hint) return LanguageDescription.matchFilename(languages, nameOf(hint.path));
  const name = hint.language;
  return (
    LanguageDescription.matchLanguageName(languages, name, false) ??
    LanguageDescription.matchFilename(languages, `a.${name}`)
  );
}

function idle(): Promise<void> {
  return new Promise((resolve) => {
    // Safari does not have it.
    if (typeof requestIdleCallback === 'function')
      requestIdleCallback(() => resolve(), { timeout: idleWithinMs });
    else setTimeout(resolve);
  });
}

/** Returns undefined if it takes too long. */
async function parse(parser: Parser, text: string): Promise<Tree | undefined> {
  const parsing = parser.startParse(text);
  let workMs = 0;
  while (workMs < workMsMax) {
    await idle();
    const start = performance.now();
    while (performance.now() - start < sliceMs) {
      const tree = parsing.advance();
      if (tree !== null) return tree;
    }
    workMs += performance.now() - start;
  }
  return undefined;
}

function tokensOf(tree: Tree): Token[] {
  const tokens: Token[] = [];
  highlightTree(tree, highlighter, (from, to, classes) => {
    // A tag with several classes has the most specific one last.
    const kind = classes.slice(classes.lastIndexOf(' ') + 1) as TokenKind;
    const last = tokens.at(-1);
    if (last !== undefined && last.kind === kind && last.to === from)
      tokens[tokens.length - 1] = { ...last, to };
    else if (tokens.length < tokensMax) tokens.push({ from, to, kind });
  });
  return tokens;
}

/** Returns no tokens if the language is not known. Rejects if its parser cannot be loaded. */
export async function tokenize(text: string, hint: NonNullable<CodeHint>): Promise<readonly Token[]> {
  const description = describe(hint);
  if (description === null) return [];
  const { language } = await description.load();
  const tree = await parse(language.parser, text);
  return tree === undefined ? [] : tokensOf(tree);
}
