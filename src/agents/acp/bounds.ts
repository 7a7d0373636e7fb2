// Keeps what agents say small enough for a log that people read: texts are masked first and cut then, so that no cut
// can leave half a secret.
import { isObject, jsonOf, textOf } from '../../text/foreignText.ts';

export type Mask = (text: string) => string;

const depthMax = 16;
const membersMax = 200;
const cutSign = '…';
const moreSign = (count: number) => `${cutSign} ${count} more`;

/** The text itself, or its beginning and its end with a word between them on how much is missing. */
export function cutText(text: string, bytesMax: number): string {
  // No character takes more than three bytes for each unit of its length.
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

/** The same value with every text in it replaced, not too deep and not too wide. */
function mapTexts(value: unknown, replace: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return replace(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === depthMax) return cutSign;
  if (Array.isArray(value)) {
    const kept = value.slice(0, membersMax).map((item) => mapTexts(item, replace, depth + 1));
    return value.length > membersMax ? [...kept, moreSign(value.length - membersMax)] : kept;
  }
  const entries = Object.entries(value);
  const kept = entries
    .slice(0, membersMax)
    .map(([name, item]) => [replace(name), mapTexts(item, replace, depth + 1)] as const);
  const more = entries.length - membersMax;
  return Object.fromEntries(more > 0 ? [...kept, [cutSign, moreSign(more)]] : kept);
}

/** Whether it can be told whole within that bound. */
export function fits(value: unknown, bytesMax: number): boolean {
  const isShallow = (one: unknown, depth: number): boolean => {
    if (typeof one !== 'object' || one === null) return true;
    const items = Object.values(one);
    return (
      depth < depthMax && items.length <= membersMax && items.every((item) => isShallow(item, depth + 1))
    );
  };
  return isShallow(value, 0) && Buffer.byteLength(jsonOf(value)) <= bytesMax;
}

/** Texts in it are cut to a share of the bound; what is too large even then is told by its size. */
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

/** The text of a content block, or what stands for it. */
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
