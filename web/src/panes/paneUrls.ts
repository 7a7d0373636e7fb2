// One or two conversations are open side by side. The URL names them, so that a reload and a link show the same.

/** Ids may contain a colon, which some browsers write as %3A. */
function decodeId(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

const besideParameter = 'beside';
const conversationPath = /^\/conversations\/([^/]+)$/;

/** The open conversations, from left to right; none on other screens. */
export function readPanes(path: string, search: string): readonly string[] {
  const first = conversationPath.exec(path)?.[1];
  if (first === undefined) return [];
  const id = decodeId(first);
  const beside = new URLSearchParams(search).get(besideParameter) ?? '';
  return beside === '' || beside === id ? [id] : [id, beside];
}

/** The home screen if none is open. */
export function panesUrl([first, beside]: readonly string[]): string {
  if (first === undefined) return '/';
  const query = beside === undefined ? '' : `?${new URLSearchParams({ [besideParameter]: beside })}`;
  return `/conversations/${encodeURIComponent(first)}${query}`;
}

/** Opens a conversation in a pane, unless it is open in another one. */
export function openIn(ids: readonly string[], pane: number, id: string): readonly string[] {
  if (ids.includes(id)) return ids;
  return ids.length === 0 ? [id] : ids.map((open, i) => (i === pane ? id : open));
}

/** Opens a conversation beside the one in this pane. */
export function openBeside(ids: readonly string[], pane: number, id: string): readonly string[] {
  const kept = ids[pane];
  return ids.includes(id) || kept === undefined ? openIn(ids, pane, id) : [kept, id];
}
