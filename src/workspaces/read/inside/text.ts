// Converts bytes to text if they are valid UTF-8 without NUL.
import { isUtf8 } from 'node:buffer';
import { Refused } from './contained.ts';

export function toText(bytes: Buffer): string {
  if (!isUtf8(bytes) || bytes.includes(0)) throw new Refused('not_text');
  return bytes.toString();
}
