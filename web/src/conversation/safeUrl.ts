// Addresses that come from a log: only those that lead somewhere harmless.

/** Pixels alone: an image that is drawn by rules may take a browser for ever. */
const pixels = /^data:image\/(?:png|jpeg|gif|webp)[;,]/i;

/** Whether it is an image that the text itself holds. */
export function isHeldImage(url: string): boolean {
  return pixels.test(url);
}

/**
 * The address where it leads elsewhere, and undefined where it leads nowhere, or into this page: its own addresses may
 * do something, such as change the key.
 */
export function outAddress(url: string, origin: string): string | undefined {
  if (!/^(?:https?:|mailto:)/i.test(url) || !URL.canParse(url)) return undefined;
  const { origin: there, href } = new URL(url);
  return there === origin ? undefined : href;
}

/** For Markdown: what is neither is left out. */
export function safeUrl(url: string): string {
  return isHeldImage(url) || outAddress(url, '') !== undefined ? url : '';
}
