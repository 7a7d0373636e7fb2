// Reads HTML as a sequence of texts and tags with the tokenizer of htmlparser2. Its parser is not used, because it
// searches all open elements for each closing tag, which takes quadratic time on a hostile page.
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';

export type HtmlToken =
  | { readonly kind: 'text'; readonly text: string }
  /** The text of a `<title>`, which contains no tags. */
  | { readonly kind: 'title'; readonly text: string }
  | {
      readonly kind: 'open';
      readonly name: string;
      readonly attributes: ReadonlyMap<string, string>;
      readonly isSelfClosing: boolean;
    }
  | { readonly kind: 'close'; readonly name: string };

/** Their content is not HTML, and is left out. */
const rawElements = new Set(['script', 'style', 'textarea', 'xmp', 'iframe', 'noembed', 'noframes']);
const wantedAttributes = new Set(['href', 'alt']);
/** The rest of a longer text between two tags is left out. */
const textCharsMax = 200_000;
const attributeCharsMax = 4_000;
const nameCharsMax = 32;

/** Calls `take` with each token until it returns false. */
export function readTokens(html: string, take: (token: HtmlToken) => boolean): void {
  let text = '';
  /** The element whose content is not HTML, while it is open. */
  let raw: string | undefined;
  let tag = '';
  let attributes = new Map<string, string>();
  let attribute: { readonly name: string; value: string } | undefined;

  const nameAt = (start: number, end: number) =>
    html.slice(start, Math.min(end, start + nameCharsMax)).toLowerCase();

  function emit(token: HtmlToken): void {
    if (tokenizer.running && !take(token)) tokenizer.pause();
  }

  function endText(): void {
    if (text !== '') emit({ kind: raw === 'title' ? 'title' : 'text', text });
    text = '';
  }

  function addText(piece: string): void {
    if (raw === undefined || raw === 'title') text += piece.slice(0, textCharsMax - text.length);
  }

  function addValue(piece: string): void {
    if (attribute !== undefined)
      attribute.value += piece.slice(0, attributeCharsMax - attribute.value.length);
  }

  function endTag(isSelfClosing: boolean): void {
    if (tag === 'title' || rawElements.has(tag)) raw = tag;
    else emit({ kind: 'open', name: tag, attributes, isSelfClosing });
  }

  const callbacks: TokenizerCallbacks = {
    ontext: (start, end) => addText(html.slice(start, end)),
    ontextentity: (codePoint) => addText(String.fromCodePoint(codePoint)),
    onopentagname: (start, end) => {
      endText();
      tag = nameAt(start, end);
      attributes = new Map();
    },
    onattribname: (start, end) => {
      const name = nameAt(start, end);
      // As in browsers, the first of several attributes with the same name counts.
      attribute = wantedAttributes.has(name) && !attributes.has(name) ? { name, value: '' } : undefined;
    },
    onattribdata: (start, end) => addValue(html.slice(start, end)),
    onattribentity: (codePoint) => addValue(String.fromCodePoint(codePoint)),
    onattribend: () => {
      if (attribute !== undefined) attributes.set(attribute.name, attribute.value);
    },
    onopentagend: () => endTag(false),
    onselfclosingtag: () => endTag(true),
    onclosetag: (start, end) => {
      endText();
      if (raw === undefined) emit({ kind: 'close', name: nameAt(start, end) });
      raw = undefined;
    },
    oncdata: () => {},
    oncomment: () => {},
    ondeclaration: () => {},
    onprocessinginstruction: () => {},
    onend: endText,
  };
  const tokenizer = new Tokenizer({}, callbacks);
  tokenizer.write(html);
  tokenizer.end();
}
