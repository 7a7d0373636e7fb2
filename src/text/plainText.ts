// Makes untrusted text safe for a terminal. Characters that move the cursor, change colours, reverse letters or are
// invisible are replaced by visible ones and never removed: people must see everything that they approve.

/** An emoji, which may contain invisible joiners, or a control or invisible character other than line breaks and tabs. */
const emojiOrHidden =
  /\p{RGI_Emoji}|(?<hidden>[[\p{Cc}--[\n\t]]\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb])/gv;

function replaceHidden(text: string, replace: (character: string) => string): string {
  return text.replace(emojiOrHidden, (found, hidden) => (hidden === undefined ? found : replace(hidden)));
}

/** Unicode has a picture for each of the first 32 control characters, in the same order, and one for DEL. */
const pictures = 0x2400;
const pictureOfDelete = '\u2421';

function spellOut(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(pictures + code);
  return code === 0x7f ? pictureOfDelete : `\\u{${code.toString(16)}}`;
}

/** Keeps line breaks, tabs and every visible character. */
export function plainText(text: string): string {
  return replaceHidden(text.replaceAll('\r\n', '\n'), spellOut);
}

/** The same, on one line. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, ' ').trim();
}

/** Removes colours of programs that assumed a terminal. */
export function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is the sequence to look for
  return text.replace(/\u001b\[[\d;]{0,30}m/g, '');
}

/** Cuts the text to so many characters, never in the middle of a surrogate pair. */
export function shorten(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** JSON in which control and invisible characters are escaped: on one line, or indented by so many spaces. */
export function jsonLine(value: unknown, spaces = 0): string {
  const escaped = (character: string) =>
    [...Array(character.length).keys()]
      .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`)
      .join('');
  return `${replaceHidden(JSON.stringify(value, null, spaces), escaped)}\n`;
}

/**
 * Quotes an untrusted value in a command that is printed for copying, so that a shell reads it as a single word. A value
 * without special characters stays as it is.
 */
export function shellWord(value: string): string {
  const word = plainLine(value);
  return /^[\w@.:,+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
