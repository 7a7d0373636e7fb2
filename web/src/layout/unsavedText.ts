// Finds out whether signing out would lose unsaved text.

/** The fields of drafts that take effort to fill in. Mere choices do not count. */
const textFields = ['message', 'text', 'images', 'instructions', 'mcp'];

export function hasUnsentText(draft: Readonly<Record<string, unknown>>): boolean {
  return textFields.some((field) => {
    const value = draft[field];
    return typeof value === 'string' ? value.trim() !== '' : Array.isArray(value) && value.length > 0;
  });
}

/** Asks the same handlers that ask the user before the tab is closed. */
export function hasUnsavedForm(): boolean {
  return !dispatchEvent(new Event('beforeunload', { cancelable: true }));
}
