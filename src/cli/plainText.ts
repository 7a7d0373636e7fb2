// Text of others for a terminal: nothing in it may move the cursor, change colours or titles, or turn letters around.
import { stripVTControlCharacters } from 'node:util';

/** Marks that change the direction of what follows. */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Keeps line breaks and tabs. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text.replaceAll('\r\n', '\n'))
    .replace(/[^\P{Cc}\n\t]/gu, '')
    .replace(directions, '');
}

export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, ' ').trim();
}

/** At most so many characters, none of them torn in two. */
export function shorten(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** JSON without characters that some terminals obey: in one line, or with so many spaces before what is inside. */
export function jsonLine(value: unknown, spaces = 0): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `${JSON.stringify(value, null, spaces)
    .replace(/[\u007f-\u009f]/g, escaped)
    .replace(directions, escaped)}\n`;
}
