// Pins, archives and marks conversations. The lists show it at once, before the service has answered.
import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { ChangeConversation, ConversationInfo } from '../../../src/client/parley.ts';
import { showNotice } from '../layout/notices.ts';
import { applyChange, refetchLists } from '../live/conversationLists.ts';
import { useParley } from '../session/session.tsx';
import { errorText } from '../texts/errors.ts';
import { useTexts } from '../texts/texts.tsx';

type Marks = Pick<ChangeConversation, 'pinned' | 'archived' | 'seen_event_id'>;

/** What the service sends when it has stored the marks. */
function changeOf(info: ConversationInfo, { seen_event_id: seen, ...marks }: Marks) {
  const { conversation_id, status, agent_state, title, stop_reason, last_updated_at: at } = info;
  const { pinned, archived } = { ...info, ...marks };
  const unread = seen === undefined ? info.unread : seen === null;
  return { conversation_id, status, agent_state, title, stop_reason, at, pinned, archived, unread };
}

/** The returned function says whether the marks were stored, and shows the error if not. */
export function useMarks() {
  const parley = useParley();
  const queries = useQueryClient();
  const texts = useTexts();
  return useCallback(
    async (info: ConversationInfo, marks: Marks): Promise<boolean> => {
      applyChange(queries, changeOf(info, marks));
      try {
        await parley.conversations.update(info.conversation_id, marks);
        return true;
      } catch (error) {
        refetchLists(queries);
        showNotice({ text: errorText(error, texts) });
        return false;
      }
    },
    [parley, queries, texts],
  );
}

/** The marks that turn one on or off. */
export const toggled = {
  pinned: ({ pinned }: ConversationInfo): Marks => ({ pinned: !pinned }),
  archived: ({ archived }: ConversationInfo): Marks => ({ archived: !archived }),
  unread: ({ unread, last_event_id }: ConversationInfo): Marks => ({
    seen_event_id: unread ? (last_event_id ?? 0) : null,
  }),
};
