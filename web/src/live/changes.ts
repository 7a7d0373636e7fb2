// Follows the changes of all conversations, and keeps the lists on the screen in step.
import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Change, ConversationInfo, ConversationList } from '../../../src/client/parley.ts';
import { useSession } from '../session/session.tsx';

export const listKey = ['conversations'];
export const infoKey = (id: string) => ['conversation', id];

type Pages = InfiniteData<ConversationList, string | undefined>;

function changed(info: ConversationInfo, change: Change): ConversationInfo[] {
  if (change.status === null) return [];
  return [
    {
      ...info,
      status: change.status,
      title: change.title,
      stop_reason: change.stop_reason,
      last_updated_at: change.at,
    },
  ];
}

/** The pages with the change in them; undefined where they do not hold the conversation. */
function apply(pages: Pages, change: Change): Pages | undefined {
  let found = false;
  const after = pages.pages.map((page) => ({
    ...page,
    results: page.results.flatMap((info) => {
      if (info.conversation_id !== change.conversation_id) return [info];
      found = true;
      return changed(info, change);
    }),
  }));
  return found ? { ...pages, pages: after } : undefined;
}

/** Follows while `enabled`; `onChange` hears of each one. */
export function useChanges(enabled: boolean, onChange: (change: Change) => void): void {
  const { parley, connection } = useSession();
  const queries = useQueryClient();

  useEffect(() => {
    if (!enabled) return;
    const ending = new AbortController();
    const readAgain = () => void queries.invalidateQueries({ queryKey: listKey });

    function take(change: Change): void {
      let known = change.status === null;
      queries.setQueriesData<Pages>({ queryKey: listKey }, (pages) => {
        const after = pages && apply(pages, change);
        if (after !== undefined) known = true;
        return after ?? pages;
      });
      if (!known) readAgain();
      void queries.invalidateQueries({ queryKey: infoKey(change.conversation_id) });
      onChange(change);
    }

    async function follow(): Promise<void> {
      let connections = 0;
      const onState = (state: 'live' | 'reconnecting') => {
        connection.report(state);
        // What happened before this one is in the list.
        if (state === 'live' && connections++ > 0) readAgain();
      };
      for await (const change of parley.changes({ signal: ending.signal, onState, onReset: readAgain }))
        take(change);
    }

    follow().catch(() => readAgain());
    return () => {
      ending.abort();
      connection.forget();
    };
  }, [enabled, parley, connection, queries, onChange]);
}
