// Filters the URLs of a log: only harmless ones are opened or rendered.

/** Raster images only: an SVG could keep a browser busy forever. */
const rasterImage = /^data:image\/(?:png|jpeg|gif|webp)[;,]/i;

export function isInlineImage(url: string): boolean {
  return rasterImage.test(url);
}

/** Returns undefined unless the URL leads to another origin: URLs of this one may act, for example change the key. */
export function externalUrl(url: string, origin: string): string | undefined {
  if (!/^(?:https?:|mailto:)/i.test(url) || !URL.canParse(url)) return undefined;
  const { origin: target, href } = new URL(url);
  return target === origin ? undefined : href;
}

/** For Markdown: removes all other URLs. */
export function safeUrl(url: string): string {
  return isInlineImage(url) || externalUrl(url, '') !== undefined ? url : '';
}
