// Which names uploaded files may have: a single name, which is the same in every sandbox and shell.
import { partialPrefix } from './inside/request.ts';

/** A file system allows 255; the rest is for the number that a taken name gets. */
const nameBytesMax = 240;
const shownCharsMax = 200;

const invisible = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}\p{Co}\p{Cn}]/u;

/** Why the file is skipped; undefined if its name is accepted. */
export function nameFault(name: string): string | undefined {
  if (name === '') return 'The file has no name.';
  if (/[/\\]/.test(name)) return 'The name contains a folder; send the name of the file only.';
  if (name === '.' || name === '..') return 'This name is not the name of a file.';
  if (invisible.test(name) || name !== name.trim())
    return 'The name contains control characters, or spaces around it.';
  if (Buffer.byteLength(name) > nameBytesMax) return `The name is longer than ${nameBytesMax} bytes.`;
  if (name.toLowerCase() === '.git' || name.startsWith(partialPrefix)) return 'This name is reserved.';
  return undefined;
}

/** A name of any kind, as it may be shown. */
export function shownName(name: string): string {
  return name.slice(0, shownCharsMax).replaceAll(new RegExp(invisible, 'gu'), '�').toWellFormed();
}
