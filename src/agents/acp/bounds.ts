// Limits the size of what agents send. Text is masked before it is cut, so that no half of a secret is left.

import { isObject, jsonOf, textOf } from '../../text/foreignText.ts';
import { createMaskedStream, createSecretValues, type MaskedStream } from '../../text/secretValues.ts';

export type Mask = (text: string) => string;

/** For tests and tools without secrets. It holds back only the first half of a character. */
export function unmaskedStream(): MaskedStream {
  return createMaskedStream(() => createSecretValues([], ''), '');
}

const depthMax = 16;
const entriesMax = 200;
const cutSign = '…';
const moreSign = (count: number) => `${cutSign} ${count} more`;

/** Returns the text, or its beginning and its end with a note about how much was cut. */
export function cutText(text: string, bytesMax: number): string {
  // UTF-8 needs at most three bytes for each UTF-16 unit.
  if (text.length * 3 <= bytesMax) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  const half = Math.floor(bytesMax / 2);
  const head = bytes
    .subarray(0, half)
    .toString()
    .replace(/\ufffd{1,3}$/, '');
  const tail = bytes
    .subarray(-half)
    .toString()
    .replace(/^\ufffd{1,3}/, '');
  return `${head}\n[${bytes.length - 2 * half} bytes were cut here]\n${tail}`;
}

/** Replaces every text in the value, and limits its depth and its number of entries. */
function mapTexts(value: unknown, replace: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return replace(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === depthMax) return cutSign;
  if (Array.isArray(value)) {
    const kept = value.slice(0, entriesMax).map((item) => mapTexts(item, replace, depth + 1));
    return value.length > entriesMax ? [...kept, moreSign(value.length - entriesMax)] : kept;
  }
  const entries = Object.entries(value);
  const kept = entries
    .slice(0, entriesMax)
    .map(([name, item]) => [replace(name), mapTexts(item, replace, depth + 1)] as const);
  const more = entries.length - entriesMax;
  return Object.fromEntries(more > 0 ? [...kept, [cutSign, moreSign(more)]] : kept);
}

/** Whether the value is kept in full with this limit. */
export function fits(value: unknown, bytesMax: number): boolean {
  const isShallow = (one: unknown, depth: number): boolean => {
    if (typeof one !== 'object' || one === null) return true;
    const items = Object.values(one);
    return (
      depth < depthMax && items.length <= entriesMax && items.every((item) => isShallow(item, depth + 1))
    );
  };
  return isShallow(value, 0) && Buffer.byteLength(jsonOf(value)) <= bytesMax;
}

/** Cuts each text to a share of the limit. If the value is still too large, only its size is kept. */
export function cutValue(value: unknown, bytesMax: number, mask: Mask): unknown {
  const whole = mapTexts(value, mask);
  const size = (one: unknown) => Buffer.byteLength(jsonOf(one));
  if (size(whole) <= bytesMax) return whole;
  const shorter = mapTexts(whole, (text) => cutText(text, bytesMax / 8));
  const left = size(shorter);
  return left <= bytesMax ? shorter : { cut: `${left} bytes` };
}

/** Whether `textOfBlock` returns the whole content of the block. */
export function isTextBlock(block: unknown): boolean {
  if (!isObject(block)) return false;
  const { type, text, uri, resource } = block;
  if (type === 'text') return typeof text === 'string';
  if (type === 'resource_link') return typeof uri === 'string';
  return type === 'resource' && isObject(resource) && typeof resource['text'] === 'string';
}

/** Returns the text of a content block, or a placeholder. */
export function textOfBlock(block: unknown): string {
  if (!isObject(block)) return '';
  const { type, text, mimeType, name, uri, resource } = block;
  if (type === 'text') return typeof text === 'string' ? text : '';
  if (type === 'image' || type === 'audio')
    return `[${type}${typeof mimeType === 'string' ? ` ${mimeType}` : ''}]`;
  if (type === 'resource_link') return `[${textOf(name)}](${textOf(uri)})`;
  if (type === 'resource' && isObject(resource))
    return typeof resource['text'] === 'string' ? resource['text'] : `[${textOf(resource['uri'])}]`;
  return '';
}
