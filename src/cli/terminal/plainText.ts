// Text of others for a terminal: nothing in it may move the cursor, change colours or titles, turn letters around or
// be there unseen. Nothing is taken away for that, for what is not shown could still be run: it is spelled out.

/** An emoji, whose joints are not to be seen, or what terminals obey or do not show. Line breaks and tabs are neither. */
const emojiOrHidden =
  /\p{RGI_Emoji}|(?<hidden>[[\p{Cc}--[\n\t]]\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb])/gv;

function replaceHidden(text: string, replace: (character: string) => string): string {
  return text.replace(emojiOrHidden, (found, hidden) => (hidden === undefined ? found : replace(hidden)));
}

/** Pictures of the first 32, which stand in the same order; then that of the one at 127. */
const pictures = 0x2400;
const pictureOfDelete = '\u2421';

function spellOut(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(pictures + code);
  return code === 0x7f ? pictureOfDelete : `\\u{${code.toString(16)}}`;
}

/** Keeps line breaks and tabs, and every character that can be seen. */
export function plainText(text: string): string {
  return replaceHidden(text.replaceAll('\r\n', '\n'), spellOut);
}

/** The same in one line. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, ' ').trim();
}

/** Without colours, which hold nothing to read: for outputs of programs that believe to be on a terminal. */
export function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
  return text.replace(/\u001b\[[\d;]{0,30}m/g, '');
}

/** At most so many characters, none of them torn in two. */
export function shorten(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** JSON without characters that some terminals obey: in one line, or with so many spaces before what is inside. */
export function jsonLine(value: unknown, spaces = 0): string {
  const escaped = (character: string) =>
    [...Array(character.length).keys()]
      .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`)
      .join('');
  return `${replaceHidden(JSON.stringify(value, null, spaces), escaped)}\n`;
}
