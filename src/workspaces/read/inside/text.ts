// Bytes that are shown as text: UTF-8, and nothing that would be lost on the way.
import { isUtf8 } from 'node:buffer';
import { Refused } from './contained.ts';

export function toText(bytes: Buffer): string {
  if (!isUtf8(bytes) || bytes.includes(0)) throw new Refused('not_text');
  return bytes.toString();
}
