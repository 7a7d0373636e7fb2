// What a page says, as plain text with a little Markdown: headings, lists, links and code. No menus, no scripts.

import { attributeOf, type HtmlToken, tokensOf } from './htmlTokens.ts';
import { createTextWriter, type TextWriter } from './textWriter.ts';

export interface PageText {
  readonly title: string;
  readonly text: string;
  /** Whether the page has more than was wanted. */
  readonly cut: boolean;
}

/** Far more than pages have that people read. */
const tokensMax = 300_000;
const titleCharsMax = 300;
const altCharsMax = 200;
const linkCharsMax = 500;

/** Left out, with all that is in them. */
const skipped = new Set(
  'nav svg template noscript button select canvas audio video object math dialog'.split(' '),
);
/** No menu holds them: whoever forgot to close one does not lose the page. */
const content = new Set(['main', 'article', 'h1']);
const paragraphs = new Set('p ul ol dl table blockquote figure h1 h2 h3 h4 h5 h6'.split(' '));
const lines = new Set(
  'div section article main header footer aside li tr dt dd form fieldset figcaption details summary address option body'.split(
    ' ',
  ),
);

/** Only what can be fetched: no script, no place on the same page. */
function linkOf(attributes: string, base: string): string | undefined {
  const href = attributeOf(attributes, 'href');
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

function open(name: string, attributes: string, base: string, writer: TextWriter): void {
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
  else if (name === 'img') writer.text((attributeOf(attributes, 'alt') ?? '').slice(0, altCharsMax));
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

/** Tells of each tag whether it is in an element that is left out. */
function createSkipping() {
  let name: string | undefined;
  let depth = 0;
  return (token: HtmlToken): boolean => {
    if (token.kind === 'text' || token.kind === 'title') return name !== undefined;
    if (token.kind === 'open' && content.has(token.name)) name = undefined;
    if (name === undefined) {
      if (token.kind === 'close' || !skipped.has(token.name) || token.attributes.endsWith('/')) return false;
      name = token.name;
      depth = 1;
    } else if (token.name === name) {
      depth += token.kind === 'open' ? 1 : -1;
      if (depth === 0) name = undefined;
    }
    return true;
  };
}

/** Takes time in proportion to the page, whatever is in it. Links are told from `base`. */
export function htmlToText(html: string, base: string, charsMax: number): PageText {
  const writer = createTextWriter(charsMax);
  const isSkipped = createSkipping();
  let title = '';
  let tokens = 0;
  for (const token of tokensOf(html)) {
    tokens += 1;
    if (writer.isFull() || tokens > tokensMax) break;
    if (isSkipped(token)) continue;
    if (token.kind === 'text') writer.text(token.text);
    else if (token.kind === 'title') title ||= token.text.replace(/\s+/g, ' ').trim().slice(0, titleCharsMax);
    else if (token.kind === 'open') open(token.name, token.attributes, base, writer);
    else close(token.name, writer);
  }
  return { title, text: writer.end(), cut: writer.isFull() || tokens > tokensMax };
}
