// What people are told about a conversation that waits for them, outside of the web UI: short, and with a link.

const messageCharsMax = 1_000;

/** The start of a description. */
export function startOf(text: string): string {
  return text.slice(0, messageCharsMax).toWellFormed();
}

/** The end of an answer, where a question would be. */
export function endOf(text: string): string {
  return text.length <= messageCharsMax ? text : `…${text.slice(1 - messageCharsMax)}`.toWellFormed();
}

/** Null without a public URL, because no other URL works for everybody. */
export function conversationUrl(publicUrl: string | undefined, conversationId: string): string | null {
  if (publicUrl === undefined) return null;
  // Markdown would end a link at a parenthesis.
  const id = encodeURIComponent(conversationId).replaceAll('(', '%28').replaceAll(')', '%29');
  return `${publicUrl}/conversations/${id}`;
}
