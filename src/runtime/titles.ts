// Titles that agents find for conversations. One that a person has given stays.
import { titleOf } from '../conversations/request.ts';
import type { Database } from '../db/transaction.ts';
import { renameConversation } from '../lifecycle/store.ts';
import { userTopic } from '../topics.ts';
import type { SessionUpdate } from './acp/update.ts';
import type { UserEvent } from './inbox.ts';
import type { ClaimedConversation } from './store.ts';

const titleCharsMax = 200;

interface TitlesOptions {
  readonly database: Database;
  readonly conversation: ClaimedConversation;
  readonly mask: (text: string) => string;
  readonly onError: (error: Error) => void;
}

export interface Titles {
  /** The first message that the agent gets in this run is that of which a title was made when it came. */
  hear(message: UserEvent): void;
  /** Takes what an agent tells of its session, and passes over all that is no title. */
  take(update: SessionUpdate): void;
}

function tidy(title: string): string {
  const line = title.toWellFormed().replaceAll(/[\s\p{Cc}]+/gu, ' ');
  return Array.from(line.trim()).slice(0, titleCharsMax).join('').trim();
}

export function createTitles({ database, conversation, mask, onError }: TitlesOptions): Titles {
  const { user_id: userId, id } = conversation;
  const unnamed = titleOf('', id);
  /** Those that nobody has chosen. */
  const ours = [unnamed];
  return {
    hear: ({ args }) => {
      if (ours.length === 1 && typeof args['content'] === 'string') ours.push(titleOf(args['content'], id));
    },
    take: ({ sessionUpdate, title: told }) => {
      const title =
        sessionUpdate === 'session_info_update' && typeof told === 'string' ? tidy(mask(told)) : '';
      if (title === '') return;
      const at = new Date().toISOString();
      database
        .run(renameConversation, { userId, id, title, instead: [...ours], at })
        .then(() => database.ring([userTopic(userId)]))
        .catch(onError);
      ours.push(title);
    },
  };
}
