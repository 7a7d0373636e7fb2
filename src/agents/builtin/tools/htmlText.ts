// Converts a web page to plain text with a little Markdown: headings, lists, links and code, without menus and scripts.

import { type HtmlToken, readTokens } from './htmlTokens.ts';
import { createTextWriter, type TextWriter } from './textWriter.ts';

export interface PageText {
  readonly title: string;
  readonly text: string;
  /** Whether the page has more text than requested. */
  readonly cut: boolean;
}

/** Far more than any page for people has. */
const tokensMax = 300_000;
const titleCharsMax = 300;
const altCharsMax = 200;
const linkCharsMax = 500;

/** These elements are left out with their content. */
const skipped = new Set(
  'nav svg template noscript button select canvas audio video object math dialog'.split(' '),
);
/** A menu never contains these, so they end a skipped element that was not closed. */
const content = new Set(['main', 'article', 'h1']);
const paragraphs = new Set('p ul ol dl table blockquote figure h1 h2 h3 h4 h5 h6'.split(' '));
const lines = new Set(
  'div section article main header footer aside li tr dt dd form fieldset figcaption details summary address option body'.split(
    ' ',
  ),
);

/** Only links that can be fetched: no scripts and no fragments of the same page. */
function linkOf(attributes: ReadonlyMap<string, string>, base: string): string | undefined {
  const href = attributes.get('href')?.trim();
  if (href === undefined || href.startsWith('#')) return undefined;
  const url = URL.parse(href, base);
  return url !== null && /^https?:$/.test(url.protocol) && url.href.length <= linkCharsMax
    ? url.href
    : undefined;
}

function breakFor(name: string, writer: TextWriter): void {
  if (paragraphs.has(name)) writer.breakLines(2);
  else if (lines.has(name)) writer.breakLines(1);
}

type OpenTag = Extract<HtmlToken, { kind: 'open' }>;

function open({ name, attributes }: OpenTag, base: string, writer: TextWriter): void {
  breakFor(name, writer);
  if (/^h[1-6]$/.test(name)) writer.startWith(`${'#'.repeat(Number(name[1]))} `);
  else if (name === 'ul' || name === 'ol') writer.indent(1);
  else if (name === 'li') writer.startWith('- ');
  else if (name === 'tr') writer.startRow();
  else if (name === 'td' || name === 'th') writer.startCell();
  else if (name === 'br') writer.lineBreak();
  else if (name === 'hr') writer.breakLines(2);
  else if (name === 'pre') writer.openCode();
  else if (name === 'code') writer.openInline(name, '`', '`');
  else if (name === 'img') writer.text((attributes.get('alt') ?? '').trim().slice(0, altCharsMax));
  else if (name === 'a') {
    writer.closeInline(name);
    const link = linkOf(attributes, base);
    if (link !== undefined) writer.openInline(name, '[', `](${link})`);
  }
}

function close(name: string, writer: TextWriter): void {
  breakFor(name, writer);
  if (/^h[1-6]$/.test(name)) writer.startWith('');
  else if (name === 'ul' || name === 'ol') writer.indent(-1);
  else if (name === 'pre') writer.closeCode();
  else if (name === 'code' || name === 'a') writer.closeInline(name);
}

/** Returns a function that decides whether a token is in an element that is left out. */
function createSkipping() {
  let name: string | undefined;
  let depth = 0;
  return (token: HtmlToken): boolean => {
    if (token.kind === 'text' || token.kind === 'title') return name !== undefined;
    if (token.kind === 'open' && content.has(token.name)) name = undefined;
    if (name === undefined) {
      if (token.kind === 'close' || !skipped.has(token.name) || token.isSelfClosing) return false;
      name = token.name;
      depth = 1;
    } else if (token.name === name) {
      depth += token.kind === 'open' ? 1 : -1;
      if (depth === 0) name = undefined;
    }
    return true;
  };
}

/** Takes linear time for any page. Links are resolved against `base`. */
export function htmlToText(html: string, base: string, charsMax: number): PageText {
  const writer = createTextWriter(charsMax);
  const isSkipped = createSkipping();
  let title = '';
  let tokens = 0;
  let cut = false;
  readTokens(html, (token) => {
    tokens += 1;
    cut = writer.isFull() || tokens > tokensMax;
    if (cut) return false;
    if (isSkipped(token)) return true;
    if (token.kind === 'text') writer.text(token.text);
    else if (token.kind === 'title') title ||= token.text.replace(/\s+/g, ' ').trim().slice(0, titleCharsMax);
    else if (token.kind === 'open') open(token, base, writer);
    else close(token.name, writer);
    return true;
  });
  const text = writer.end();
  return { title, text, cut: cut || writer.isFull() };
}
