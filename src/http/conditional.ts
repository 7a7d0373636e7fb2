// Conditional requests: whether a list of entity tags contains the current one.

/** Weak comparison of If-None-Match; `*` matches anything. */
export function etagMatches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header === etag || header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
