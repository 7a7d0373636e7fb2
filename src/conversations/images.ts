// What the strings of `image_urls` are. The contract takes any string, so that sample values pass; only images reach the
// agent, and the log names the rest to the user.
import { type NewEvent, notice } from '../events/shapes.ts';

/** `text` is no URL at all; `refused` is one that no image comes from, such as javascript: or file:. */
type ImageKind = 'data' | 'link' | 'text' | 'refused';

const namedMax = 5;
const namedCharsMax = 80;

export function imageKind(value: string): ImageKind {
  if (/^data:image\/[a-z0-9.+-]+[;,]/i.test(value)) return 'data';
  // The same parser as in browsers: it looks past spaces and line breaks, with which a scheme could be hidden.
  const url = URL.parse(value);
  if (url === null) return 'text';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'refused';
  return /[\s\p{Cc}]/u.test(value) ? 'text' : 'link';
}

function quote(value: string): string {
  const chars = Array.from(value.slice(0, 2 * namedCharsMax));
  const shown = chars.slice(0, namedCharsMax).join('');
  return JSON.stringify(shown === value ? value : `${shown}…`);
}

/** Names those that the agent does not get; nothing where it gets all of them. */
export function unsentImages(imageUrls: readonly string[]): NewEvent[] {
  const unsent = imageUrls.filter((url) => imageKind(url) === 'text');
  if (unsent.length === 0) return [];
  const named = unsent.slice(0, namedMax).map(quote);
  const more = unsent.length > namedMax ? ` and ${unsent.length - namedMax} more` : '';
  const why = unsent.length === 1 ? 'it is not a URL' : 'they are not URLs';
  return [notice(`Not sent to the agent as an image, because ${why}: ${named.join(', ')}${more}.`)];
}
