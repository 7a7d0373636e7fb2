// Searches the whole conversation on the service, which finds what is not on the screen, too.
import { useEffect, useState } from 'react';
import { type Parley, ParleyError } from '../../../../src/client/parley.ts';
import { useParley } from '../../session/session.tsx';

/** The user has stopped typing. */
const typingMs = 200;
const pageSize = 50;
/** More matches are not listed: nobody goes through them one by one. */
const matchesMax = 500;

export interface Matches {
  readonly query: string;
  /** The events that match, oldest first. */
  readonly events: readonly number[];
  readonly hasMore: boolean;
  readonly error: unknown;
}

async function findAll(parley: Parley, id: string, query: string, signal: AbortSignal): Promise<Matches> {
  const events: number[] = [];
  let page: string | null | undefined;
  do {
    const position = page == null ? {} : { page_id: page };
    const found = await parley.conversations.searchEvents(
      id,
      query,
      { limit: pageSize, ...position },
      { signal },
    );
    events.push(...found.matches.map(({ event_id }) => event_id));
    page = found.next_page_id;
  } while (page != null && events.length < matchesMax);
  return { query, events: events.reverse(), hasMore: page != null, error: undefined };
}

/** A text without letters and digits has no matches. */
function isNoQuery(error: unknown): boolean {
  return error instanceof ParleyError && error.status === 422;
}

/** Returns undefined until the first search has ended, and the matches of the last one while the next one runs. */
export function useSearch(conversationId: string, query: string): Matches | undefined {
  const parley = useParley();
  const [matches, setMatches] = useState<Matches>();
  useEffect(() => {
    if (query.trim() === '') {
      setMatches(undefined);
      return;
    }
    const ending = new AbortController();
    const timer = setTimeout(() => {
      findAll(parley, conversationId, query, ending.signal)
        .catch((error: unknown) => ({
          query,
          events: [],
          hasMore: false,
          error: isNoQuery(error) ? undefined : error,
        }))
        .then((found) => {
          if (!ending.signal.aborted) setMatches(found);
        });
    }, typingMs);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [parley, conversationId, query]);
  return matches;
}
