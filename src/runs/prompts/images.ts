// Images that users name by their address, fetched for agents that can see.
import type { OutgoingFetch } from '../../outgoing/fetch.ts';
import type { FetchImage } from './prompts.ts';

/** Undefined where what is there is no image. Throws where it cannot be fetched. */
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
