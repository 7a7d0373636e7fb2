// The search index: finds conversations that are not fully indexed, and adds words. A row of the index has the
// number of its event. Words of another user are never read, because each row also has a word for its owner.
import { sql } from 'kysely';
import { one, type Queries, read, rows, type Steps, write } from '../../db/transaction.ts';
import { eventIdsMax, eventKeyOf } from '../../events/eventKey.ts';

/** The title of a conversation is indexed under this id, which no event has. */
export const titleId = eventIdsMax;

/** PostgreSQL ignores further positions of a word. */
const positionsMax = 255;

/** A word that no text contains, because it is not made of letters alone. */
export function ownerWord(userId: number): string {
  return `~${userId}`;
}

/** FTS5 has a column for it. */
export function ownerTerm(userId: number): string {
  return `u${userId}`;
}

export interface IndexState {
  readonly key: number;
  readonly user_id: number;
  readonly next_event: number;
  readonly title: string;
  /** Events below this are indexed. */
  readonly indexed: number;
  /** The title that is indexed; null if there is none. */
  readonly indexed_title: string | null;
}

const stateColumns = [
  'conversations.key',
  'conversations.user_id',
  'conversations.next_event',
  'conversations.title',
  sql<number>`coalesce(search_positions.next_event, 0)`.as('indexed'),
  'search_positions.title as indexed_title',
] as const;

function selectStates(q: Queries) {
  return q.build
    .selectFrom('conversations')
    .leftJoin('search_positions', 'search_positions.conversation_key', 'conversations.key');
}

/** Returns undefined if the conversation was deleted. */
export const findIndexState = read('search.findState', function* (q, key: number): Steps<
  IndexState | undefined
> {
  return yield* one(selectStates(q).select(stateColumns).where('conversations.key', '=', key));
});

interface BehindQuery {
  /** Conversations with smaller keys are examined; null means all. */
  readonly below: number | null;
  readonly scannedMax: number;
}

interface Behind {
  /** Conversations that are not fully indexed. */
  readonly keys: number[];
  /** Conversations that are in the index, but were deleted by a version without this index. */
  readonly gone: number[];
  /** Where to continue; null at the end. */
  readonly next: number | null;
}

/** Examines a bounded number of conversations, newest first. */
export const findBehind = read('search.findBehind', function* (q, query: BehindQuery): Steps<Behind> {
  const { below, scannedMax } = query;
  const isBelow = (column: 'key' | 'conversation_key') =>
    below === null ? sql<boolean>`true` : sql<boolean>`${sql.ref(column)} < ${below}`;
  const end = yield* one(
    q.build
      .selectFrom('conversations')
      .select('key')
      .where(isBelow('key'))
      .orderBy('key', 'desc')
      .limit(1)
      .offset(scannedMax - 1),
  );
  const from = end?.key ?? 0;
  const found = yield* rows(
    selectStates(q)
      .select('conversations.key')
      .where(isBelow('key'))
      .where('conversations.key', '>=', from)
      .where(
        sql<boolean>`(search_positions.title is null or search_positions.title <> conversations.title
          or search_positions.next_event < conversations.next_event)`,
      )
      .orderBy('conversations.key', 'desc'),
  );
  const gone = yield* rows(
    q.build
      .selectFrom('search_positions')
      .select('conversation_key as key')
      .where(isBelow('conversation_key'))
      .where('conversation_key', '>=', from)
      .where(
        sql<boolean>`not exists (select 1 from conversations where key = search_positions.conversation_key)`,
      )
      .limit(scannedMax),
  );
  return { keys: found.map(({ key }) => key), gone: gone.map(({ key }) => key), next: end?.key ?? null };
});

export interface Document {
  /** The id of an event, or `titleId`. */
  readonly id: number;
  readonly words: readonly string[];
}

export interface IndexedPiece {
  readonly key: number;
  /** The position that the piece was read at. */
  readonly from: number;
  /** The position after it. */
  readonly to: number;
  readonly title: string;
  readonly documents: readonly Document[];
}

/** The text form of a `tsvector`. Words contain no quotes. */
function vectorOf(words: readonly string[], userId: number): string {
  const positions = new Map<string, number[]>();
  for (const [i, word] of words.entries()) {
    const found = positions.get(word);
    if (found === undefined) positions.set(word, [i + 1]);
    else if (found.length < positionsMax) found.push(i + 1);
  }
  const parts = [...positions].map(([word, at]) => `'${word}':${at.join(',')}`);
  return [`'${ownerWord(userId)}'`, ...parts].join(' ');
}

function* insertDocuments(q: Queries, { key, documents }: IndexedPiece, userId: number): Steps<void> {
  if (documents.length === 0) return;
  // A title replaces the former one.
  if (documents.some(({ id }) => id === titleId)) yield* deleteRange(q, key, titleId, titleId + 1);
  if (q.kind === 'postgres') {
    const ids = documents.map(({ id }) => id);
    const vectors = documents.map(({ words }) => vectorOf(words, userId));
    const insertAll = sql`insert into search_documents (place, words)
      select (cast(${key} as bigint) << 32) | id, vector::tsvector
      from unnest(${ids}::bigint[], ${vectors}::text[]) as document (id, vector)`;
    yield* rows({ compile: () => insertAll.compile(q.build) });
    return;
  }
  for (const { id, words } of documents) {
    const insert = sql`insert into search_documents (rowid, owner, words)
      values (${eventKeyOf(key, id)}, ${ownerTerm(userId)}, ${words.join(' ')})`;
    yield* rows({ compile: () => insert.compile(q.build) });
  }
}

/**
 * Adds a part of a log to the index, unless another process has done so or the conversation was deleted. Appends do not
 * wait for it: on PostgreSQL, the row is only locked against deletion.
 */
export const indexPiece = write('search.index', function* (q, piece: IndexedPiece): Steps<boolean> {
  const { key, from, to, title } = piece;
  const own = q.build.selectFrom('conversations').select('user_id').where('key', '=', key);
  const conversation = yield* one(q.kind === 'postgres' ? own.forKeyShare() : own);
  if (conversation === undefined) return false;
  const stored = { next_event: to, title };
  const moved =
    from === 0
      ? yield* rows(
          q.build
            .insertInto('search_positions')
            .values({ conversation_key: key, ...stored })
            .onConflict((c) =>
              c.column('conversation_key').doUpdateSet(stored).where('search_positions.next_event', '=', 0),
            )
            .returning('conversation_key'),
        )
      : yield* rows(
          q.build
            .updateTable('search_positions')
            .set(stored)
            .where('conversation_key', '=', key)
            .where('next_event', '=', from)
            .returning('conversation_key'),
        );
  if (moved.length === 0) return false;
  yield* insertDocuments(q, piece, conversation.user_id);
  return true;
});

const deletedAtOnceMax = 10_000;

function* deleteRange(q: Queries, key: number, from: number, below: number): Steps<void> {
  const place = sql.ref(q.kind === 'sqlite' ? 'rowid' : 'place');
  // The id after the last one belongs to the next conversation, so this bound is included.
  const deletion = sql`delete from search_documents
    where ${place} >= ${eventKeyOf(key, from)} and ${place} <= ${eventKeyOf(key, below - 1)}`;
  yield* rows({ compile: () => deletion.compile(q.build) });
}

/** Removes some rows of a conversation from the index. Returns whether there may be more. */
export function* deleteSomeFromIndex(q: Queries, key: number, max: number): Steps<boolean> {
  const place = sql.ref(q.kind === 'sqlite' ? 'rowid' : 'place');
  const some = sql<{ id: number }>`select ${place} & 4294967295 as id from search_documents
    where ${place} >= ${eventKeyOf(key, 0)} and ${place} <= ${eventKeyOf(key, titleId)}
    order by ${place} limit ${max}`;
  const found = yield* rows({ compile: () => some.compile(q.build) });
  const last = found.at(-1);
  if (last !== undefined) yield* deleteRange(q, key, 0, last.id + 1);
  return found.length === max;
}

/** Removes a conversation from the index, in statements of bounded size. */
export function* deleteFromIndex(q: Queries, key: number): Steps<void> {
  const position = yield* one(
    q.build.deleteFrom('search_positions').where('conversation_key', '=', key).returning('next_event'),
  );
  if (position === undefined) return;
  for (let below = position.next_event; below > 0; below -= deletedAtOnceMax)
    yield* deleteRange(q, key, Math.max(0, below - deletedAtOnceMax), below);
  yield* deleteRange(q, key, titleId, titleId + 1);
}

/** Removes a conversation that is gone from the index. */
export const forgetGone = write('search.forgetGone', function* (q, key: number): Steps<void> {
  const found = yield* one(q.build.selectFrom('conversations').select('key').where('key', '=', key));
  if (found === undefined) yield* deleteFromIndex(q, key);
});

export const indexTransactions = [findIndexState, findBehind, indexPiece, forgetGone];
