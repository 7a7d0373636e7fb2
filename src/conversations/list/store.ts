// Reads conversations: one by its id, many by time. A list reads a limited number of rows, whatever is asked for.
import { type Selectable, sql } from 'kysely';
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
  'agent',
  'llm_model',
  'confirmation_mode',
  'client_folder',
  'pinned',
  'archived',
  'seen',
  'next_event',
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
  'forked_from',
  'forked_event',
] as const;

const selectInfo = ({ kind }: Queries) => [...infoColumns, ...readAllUsage(kind)] as const;

/** A position in the list, newest first. */
export interface ListPosition {
  readonly at: number;
  readonly key: number;
}

export interface ListQuery {
  readonly userId: number;
  /** The list starts after this position. */
  readonly after: ListPosition | null;
  readonly repository: string | null;
  readonly trigger: string | null;
  readonly status: string | null;
  readonly clientFolder: string | null;
  readonly pinned: boolean | null;
  readonly archived: boolean | null;
  readonly unread: boolean | null;
  /** Part of the title or the repository, in lower case. */
  readonly words: string | null;
  /** How many rows to return. */
  readonly max: number;
  /** How many rows to read. */
  readonly scannedMax: number;
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

/** The matching rows among the next ones, and the position where the query ended; null at the end of the list. */
export const listConversations = read('listing.list', function* (q, query: ListQuery) {
  const { userId, after, repository, trigger, status, clientFolder, words, max, scannedMax } = query;
  const { pinned, archived, unread } = query;
  let window = q.build
    .selectFrom('conversations')
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('key', 'desc');
  if (after !== null)
    window = window.where((e) => e(e.refTuple('created_at', 'key'), '<', e.tuple(after.at, after.key)));
  const filters = [repository, trigger, status, clientFolder, pinned, archived, unread, words];
  const filtered = filters.some((filter) => filter !== null);
  if (!filtered) return { rows: yield* rows(window.select(selectInfo(q)).limit(max)), end: null };

  const end = yield* one(
    window
      .select(['created_at', 'key'])
      .limit(1)
      .offset(scannedMax - 1),
  );
  // Pages start at a position and not at a number, because more conversations may have been created since.
  if (end !== undefined)
    window = window.where((e) => e(e.refTuple('created_at', 'key'), '>=', e.tuple(end.created_at, end.key)));
  if (repository !== null) window = window.where('repository', '=', repository);
  if (trigger !== null) window = window.where('trigger', '=', trigger);
  if (status !== null) window = window.where('status', '=', status);
  if (clientFolder !== null) window = window.where('client_folder', '=', clientFolder);
  if (pinned !== null) window = window.where('pinned', '=', Number(pinned));
  if (archived !== null) window = window.where('archived', '=', Number(archived));
  if (unread !== null)
    window = window.where(
      sql<boolean>`coalesce(seen, next_event) ${sql.raw(unread ? '<' : '>=')} next_event`,
    );
  if (words !== null) {
    // Compared here, because databases fold only the case of ASCII, or depend on their locale.
    const seen = yield* rows(window.select(['key', 'title', 'repository']));
    const fit = seen.filter((row) => matchesSearch(row.title, words) || matchesSearch(row.repository, words));
    // 0, which no row has, because PostgreSQL does not accept an empty list.
    window = window.where('key', 'in', [0, ...fit.slice(0, max).map(({ key }) => key)]);
  }
  const found = yield* rows(window.select(selectInfo(q)).limit(max));
  return { rows: found, end: end === undefined ? null : { at: end.created_at, key: end.key } };
});

export const listingTransactions = [findConversation, listConversations];
