// Titles that agents suggest for conversations. A title that a person has set stays.

import type { SessionUpdate } from '../agents/acp/update.ts';
import { titleOf } from '../conversations/create/request.ts';
import type { ClaimedConversation } from '../conversations/run/claimStore.ts';
import { titleRun } from '../conversations/run/store.ts';
import { userTopic } from '../db/topics.ts';
import type { Database } from '../db/transaction.ts';
import { type Clock, systemClock, timestamp } from '../process/clock.ts';
import { wakeable } from '../process/repeat.ts';
import type { UserMessage } from './prompts/inbox.ts';

const titleCharsMax = 200;
/** Per run. Later suggestions are ignored. */
const renamesMax = 20;

interface TitlesOptions {
  readonly database: Database;
  readonly conversation: ClaimedConversation;
  readonly runId: string;
  readonly mask: (text: string) => string;
  readonly onError: (error: Error) => void;
  readonly clock?: Pick<Clock, 'now'>;
}

export interface Titles {
  /** The first message of the run, because its automatic title may be replaced. */
  addMessage(message: UserMessage): void;
  /** Takes a title from an update; ignores all other updates. */
  addUpdate(update: SessionUpdate): void;
}

function tidy(title: string): string {
  const line = title.toWellFormed().replaceAll(/[\s\p{Cc}]+/gu, ' ');
  return Array.from(line.trim()).slice(0, titleCharsMax).join('').trim();
}

/** Titles are stored one at a time. Of those that arrive meanwhile, the newest is next. */
export function createTitles(options: TitlesOptions): Titles {
  const { database, conversation, runId, mask, onError, clock = systemClock } = options;
  const { key, user_id: userId, id } = conversation;
  /** Titles that no person has chosen. */
  const ours = [titleOf('', id)];
  let hasHeard = false;
  let found: string | undefined;
  let renamesLeft = renamesMax;

  const renames = wakeable(async () => {
    const title = found;
    found = undefined;
    if (title === undefined || renamesLeft === 0) return;
    renamesLeft -= 1;
    const instead = [...ours];
    ours.push(title);
    const at = timestamp(clock);
    if (await database.run(titleRun, { key, runId, title, instead, at }))
      database.notify([userTopic(userId)]);
  }, onError);

  return {
    addMessage: ({ args }) => {
      if (hasHeard) return;
      hasHeard = true;
      ours.push(titleOf(args.content, id));
    },
    addUpdate: ({ sessionUpdate, title: told }) => {
      const title =
        sessionUpdate === 'session_info_update' && typeof told === 'string' ? tidy(mask(told)) : '';
      if (title === '' || title === (found ?? ours.at(-1))) return;
      found = title;
      renames.wake();
    },
  };
}
