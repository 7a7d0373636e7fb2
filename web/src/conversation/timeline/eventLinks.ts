// Links to single events: `#event-12` in the URL of a conversation.
import { useLocationProperty } from 'wouter/use-browser-location';

const eventHash = /^#event-(\d{1,15})$/;

export function eventHref(id: number): string {
  return `#event-${id}`;
}

export function eventIdOf(hash: string): number | undefined {
  const [, digits] = eventHash.exec(hash) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The URL names one conversation; another one may be shown beside it. */
function isNamed(path: string, id: string): boolean {
  return path === `/conversations/${id}` || path === `/conversations/${encodeURIComponent(id)}`;
}

/** The event that the URL links to. */
export function useLinkedEvent(conversationId: string): number | undefined {
  const hash = useLocationProperty(() => (isNamed(location.pathname, conversationId) ? location.hash : ''));
  return eventIdOf(hash);
}
