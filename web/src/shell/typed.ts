// Whether something would be lost with a sign out.

/** Members of drafts that somebody has written or picked by hand, not merely chosen. */
const written = ['message', 'text', 'images', 'instructions', 'mcp'];

export function holdsWritten(draft: Readonly<Record<string, unknown>>): boolean {
  return written.some((member) => {
    const value = draft[member];
    return typeof value === 'string' ? value.trim() !== '' : Array.isArray(value) && value.length > 0;
  });
}

/** Forms with changes, and texts that are shown once, hold up the end of the tab: they are asked the same question. */
export function isTabHeld(): boolean {
  return !dispatchEvent(new Event('beforeunload', { cancelable: true }));
}
