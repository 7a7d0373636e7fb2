// Addresses that come from a log: only those that lead somewhere harmless.
import { defaultUrlTransform } from 'react-markdown';

/** Empty where it is none. `key` is the attribute that it is for; only images may be data. */
export function safeUrl(url: string, key = 'href'): string {
  return key === 'src' && url.startsWith('data:image/') ? url : defaultUrlTransform(url);
}
