// HTML as a row of texts and tags. Every character is looked at a fixed number of times, whatever a page holds, and
// what never ends is dropped, as browsers do.

export type HtmlToken =
  | { readonly kind: 'text'; readonly text: string }
  /** Of `<title>`, which holds no tags. */
  | { readonly kind: 'title'; readonly text: string }
  | { readonly kind: 'open'; readonly name: string; readonly attributes: string }
  | { readonly kind: 'close'; readonly name: string };

/** What stands in them is no HTML. */
const rawElements = new Set(['script', 'style', 'title', 'textarea', 'xmp', 'iframe', 'noembed', 'noframes']);
/** Of a text between two tags; the rest is left out. */
const textCharsMax = 200_000;
/** Those of a tag that are looked into. */
const attributesCharsMax = 4_000;

const entities: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', shy: '', zwj: '', zwnj: '' },
  ...{
    ndash: '–',
    mdash: '—',
    hellip: '…',
    bull: '•',
    middot: '·',
    sect: '§',
    para: '¶',
    copy: '©',
    reg: '®',
  },
  ...{
    trade: '™',
    deg: '°',
    plusmn: '±',
    times: '×',
    divide: '÷',
    micro: 'µ',
    frac12: '½',
    euro: '€',
    pound: '£',
  },
  ...{
    lsquo: '‘',
    rsquo: '’',
    ldquo: '“',
    rdquo: '”',
    laquo: '«',
    raquo: '»',
    larr: '←',
    rarr: '→',
    uarr: '↑',
  },
  ...{
    darr: '↓',
    harr: '↔',
    le: '≤',
    ge: '≥',
    ne: '≠',
    asymp: '≈',
    infin: '∞',
    check: '✓',
    lbrace: '{',
    rbrace: '}',
  },
  ...{
    auml: 'ä',
    ouml: 'ö',
    uuml: 'ü',
    Auml: 'Ä',
    Ouml: 'Ö',
    Uuml: 'Ü',
    szlig: 'ß',
    eacute: 'é',
    egrave: 'è',
  },
};

function characterOf(code: number): string {
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : '\uFFFD';
}

export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z][a-z0-9]{1,20}));/gi,
    (whole, hex, decimal, name) => {
      if (hex !== undefined) return characterOf(Number.parseInt(hex, 16));
      if (decimal !== undefined) return characterOf(Number(decimal));
      return entities[name] ?? whole;
    },
  );
}

/** The value of an attribute, decoded. */
export function attributeOf(attributes: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"']+))`, 'i').exec(
    attributes,
  );
  const value = found?.[1] ?? found?.[2] ?? found?.[3];
  return value === undefined ? undefined : decodeEntities(value).trim();
}

/** Where the tag ends: at a `>` that is in no quoted value. -1: never. */
function tagEnd(html: string, from: number): number {
  let before = '';
  for (let at = from; at < html.length; at += 1) {
    const character = html[at] ?? '';
    if (character === '>') return at;
    if (before === '=' && (character === '"' || character === "'")) {
      at = html.indexOf(character, at + 1);
      if (at === -1) return -1;
    }
    if (character.trim() !== '') before = character;
  }
  return -1;
}

function nameAt(html: string, at: number): string {
  const name = /[a-z][a-z0-9:-]{0,30}/iy;
  name.lastIndex = at;
  return name.exec(html)?.[0].toLowerCase() ?? '';
}

/** Where the content of an element ends that holds no tags; the end of the page where it never does. */
function rawEnd(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}`, 'gi');
  end.lastIndex = from;
  return end.exec(html)?.index ?? html.length;
}

interface Step {
  readonly token?: HtmlToken;
  /** -1: there is nothing more. */
  readonly next: number;
}

/** One piece of markup: a comment, a declaration, or a tag. */
function markupAt(html: string, at: number): Step {
  const after = (end: number, width: number) => (end === -1 ? -1 : end + width);
  if (html.startsWith('<!--', at)) return { next: after(html.indexOf('-->', at + 4), 3) };
  if (html[at + 1] === '!' || html[at + 1] === '?') return { next: after(html.indexOf('>', at), 1) };
  const isClose = html[at + 1] === '/';
  const nameFrom = at + (isClose ? 2 : 1);
  const name = nameAt(html, nameFrom);
  const end = tagEnd(html, nameFrom + name.length);
  if (end === -1 || name === '') return { next: after(end, 1) };
  if (isClose) return { token: { kind: 'close', name }, next: end + 1 };
  const stop = Math.min(end, nameFrom + name.length + attributesCharsMax);
  const attributes = html.slice(nameFrom + name.length, stop);
  return { token: { kind: 'open', name, attributes }, next: end + 1 };
}

export function* tokensOf(html: string): Generator<HtmlToken> {
  const markup = /<[a-z/!?]/gi;
  for (let at = 0; at !== -1 && at < html.length; ) {
    markup.lastIndex = at;
    const start = markup.exec(html)?.index ?? html.length;
    if (start > at)
      yield { kind: 'text', text: decodeEntities(html.slice(at, Math.min(start, at + textCharsMax))) };
    if (start === html.length) return;
    const { token, next } = markupAt(html, start);
    at = next;
    if (token?.kind === 'open' && rawElements.has(token.name)) {
      at = rawEnd(html, token.name, next);
      if (token.name === 'title') yield { kind: 'title', text: decodeEntities(html.slice(next, at)) };
    } else if (token !== undefined) yield token;
  }
}
