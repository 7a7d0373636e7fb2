// Classifies the strings in `image_urls`. The API accepts any string there; only images are sent to the agent, and a
// notice in the log names the others.
import { notice } from '../../events/shapes.ts';
import type { NewEvent } from '../../events/vocabulary/vocabulary.ts';

/** `text` is not a URL; `refused` has a scheme that cannot be an image, such as javascript: or file:. */
type ImageKind = 'data' | 'link' | 'text' | 'refused';

const namedMax = 5;
const namedCharsMax = 80;

export function imageKind(value: string): ImageKind {
  if (/^data:image\/[a-z0-9.+-]+[;,]/i.test(value)) return 'data';
  // Parses as browsers do: they skip spaces and line breaks, which could hide a scheme.
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

/** A notice that names the images the agent does not get; empty if it gets all of them. */
export function unsentImages(imageUrls: readonly string[]): NewEvent[] {
  const unsent = imageUrls.filter((url) => imageKind(url) === 'text');
  if (unsent.length === 0) return [];
  const named = unsent.slice(0, namedMax).map(quote);
  const more = unsent.length > namedMax ? ` and ${unsent.length - namedMax} more` : '';
  const why = unsent.length === 1 ? 'it is not a URL' : 'they are not URLs';
  return [notice(`Not sent to the agent as an image, because ${why}: ${named.join(', ')}${more}.`)];
}
