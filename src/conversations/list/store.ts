// Reading conversations: one by its id, many by time. A list looks at a bounded number of rows, whatever is asked.
import type { Selectable } from 'kysely';
import type { Tables } from '../../db/tables.ts';
import { one, type Queries, read, rows } from '../../db/transaction.ts';
import type { ConversationName } from '../id.ts';
import { readAllUsage } from '../usage/columns.ts';
import type { UsageColumns } from '../usage/shape.ts';

const infoColumns = [
  'key',
  'id',
  'status',
  'title',
  'trigger',
  'repository',
  'branch',
  'git_provider',
  'turn_open',
  'question',
  'said',
  'heard',
  'runtime_status',
  'stop_code',
  'stop_sentence',
  'run_id',
  'created_at',
  'updated_at',
] as const;

const selectInfo = ({ kind }: Queries) => [...infoColumns, ...readAllUsage(kind)] as const;

/** A row's place in the list, newest first. */
export interface ListPosition {
  readonly at: number;
  readonly key: number;
}

export interface ListQuery {
  readonly userId: number;
  /** Begin after this one. */
  readonly after: ListPosition | null;
  readonly repository: string | null;
  readonly trigger: string | null;
  readonly status: string | null;
  /** Part of the title or the repository, in lower case. */
  readonly words: string | null;
  /** Rows to find. */
  readonly max: number;
  /** Rows to look at. */
  readonly lookMax: number;
}

function matchesSearch(text: string | null, words: string): boolean {
  return text?.toLowerCase().includes(words) ?? false;
}

export const findConversation = read('listing.find', function* (q, { userId, id }: ConversationName) {
  return yield* one(
    q.build
      .selectFrom('conversations')
      .select(selectInfo(q))
      .where('user_id', '=', userId)
      .where('id', '=', id),
  );
});
export type ConversationRow = Pick<Selectable<Tables['conversations']>, (typeof infoColumns)[number]> &
  UsageColumns;

/** The rows that fit among the next `lookMax`, and where the look ended; null where it saw the last one. */
export const listConversations = read('listing.list', function* (q, query: ListQuery) {
  const { userId, after, repository, trigger, status, words, max, lookMax } = query;
  let window = q.build
    .selectFrom('conversations')
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('key', 'desc');
  if (after !== null)
    window = window.where((e) => e(e.refTuple('created_at', 'key'), '<', e.tuple(after.at, after.key)));
  const filtered = repository !== null || trigger !== null || status !== null || words !== null;
  if (!filtered) return { rows: yield* rows(window.select(selectInfo(q)).limit(max)), end: null };

  const end = yield* one(
    window
      .select(['created_at', 'key'])
      .limit(1)
      .offset(lookMax - 1),
  );
  // By place and not by number: more may have been created since.
  if (end !== undefined)
    window = window.where((e) => e(e.refTuple('created_at', 'key'), '>=', e.tuple(end.created_at, end.key)));
  if (repository !== null) window = window.where('repository', '=', repository);
  if (trigger !== null) window = window.where('trigger', '=', trigger);
  if (status !== null) window = window.where('status', '=', status);
  if (words !== null) {
    // Compared here, because databases know the case of ASCII only, or as their locale has it.
    const seen = yield* rows(window.select(['key', 'title', 'repository']));
    const fit = seen.filter((row) => matchesSearch(row.title, words) || matchesSearch(row.repository, words));
    // With 0, which no row has, because PostgreSQL knows no empty list.
    window = window.where('key', 'in', [0, ...fit.slice(0, max).map(({ key }) => key)]);
  }
  const found = yield* rows(window.select(selectInfo(q)).limit(max));
  return { rows: found, end: end === undefined ? null : { at: end.created_at, key: end.key } };
});

export const listingTransactions = [findConversation, listConversations];
