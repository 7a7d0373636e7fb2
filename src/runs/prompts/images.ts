// Fetches images that users give by URL, for agents that accept images.
import type { OutgoingFetch } from '../../outgoing/fetch.ts';
import type { FetchImage } from './prompts.ts';

/** Returns undefined if there is no image. Throws if it cannot be fetched. */
export function createImageFetch(fetch: OutgoingFetch): FetchImage {
  return async (url, signal) => {
    const response = await fetch(url, { signal });
    const [mimeType = ''] = (response.headers.get('content-type') ?? '').split(';');
    if (!response.ok || !/^image\/[\w.+-]+$/.test(mimeType)) {
      await response.body?.cancel();
      return undefined;
    }
    return { mimeType, data: Buffer.from(await response.arrayBuffer()) };
  };
}
