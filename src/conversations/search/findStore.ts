// Finds what matches a query, newest first, and shows where. The index says which events match; their texts come from
// the log. Each part of a search is bounded, and a page ends early rather than taking long.
import { sql } from 'kysely';
import { one, type Queries, rows, type Steps, slowRead } from '../../db/transaction.ts';
import { eventKeyOf, idOfKey } from '../../events/eventKey.ts';
import { ownerTerm, ownerWord, titleId } from './indexStore.ts';
import { type Term, toFts, toTsquery } from './query.ts';
import { findMatches, type Range, snippetOf } from './snippet.ts';
import { searchableText } from './text.ts';

/** How many matches of a conversation are shown in a search over all. */
export const matchesMax = 3;
/** How many rows of the index one query returns, and how many queries there are. */
const hitsMax = 500;
const queriesMax = 20;
/** A page ends early after this time, and after reading this many bytes of the log. */
const pageMs = 1_500;
const pageBytesMax = 16 * 1_024 * 1_024;
/** The text of a larger event is not shown. */
const eventBytesMax = 4 * 1_024 * 1_024;

interface Search {
  readonly userId: number;
  readonly terms: readonly Term[];
  readonly max: number;
}

export interface Match {
  readonly event_id: number;
  readonly source: string;
  readonly timestamp: string;
  readonly snippet: string;
  readonly ranges: readonly Range[];
}

interface Hit {
  readonly key: number;
  readonly id: number;
}

/** Hits below a place, newest first. */
function* findHits(q: Queries, { userId, terms }: Search, from: Hit, below: Hit): Steps<Hit[]> {
  const [first, end] = [eventKeyOf(from.key, from.id), eventKeyOf(below.key, below.id)];
  const query =
    q.kind === 'sqlite'
      ? sql<Hit>`select rowid >> 32 as key, rowid & 4294967295 as id from search_documents
          where search_documents match ${`owner : "${ownerTerm(userId)}" AND words : (${toFts(terms)})`}
            and rowid >= ${first} and rowid < ${end}
          order by rowid desc limit ${hitsMax}`
      : // Materialized, so that the index finds the rows, and not one that has the right order.
        sql<Hit>`with found as materialized (
            select place from search_documents
            where words @@ ${`'${ownerWord(userId)}' & ${toTsquery(terms)}`}::tsquery
              and place >= ${first} and place < ${end})
          select place >> 32 as key, place & 4294967295 as id from found order by place desc limit ${hitsMax}`;
  return yield* rows({ compile: () => query.compile(q.build) });
}

interface Page {
  /** When the page began, in terms of `performance.now()`. */
  readonly since: number;
  bytes: number;
}

function isFull({ since, bytes }: Page): boolean {
  return performance.now() - since > pageMs || bytes > pageBytesMax;
}

/** The texts of hits. One that does not match after all is left out. */
function* readMatches(q: Queries, hits: readonly Hit[], terms: readonly Term[], page: Page): Steps<Match[]> {
  const events = hits.filter(({ id }) => id !== titleId);
  if (events.length === 0) return [];
  const found = yield* rows(
    q.build
      .selectFrom('events')
      .select([idOfKey.as('id'), 'json'])
      .where(
        'place',
        'in',
        events.map(({ key, id }) => eventKeyOf(key, id)),
      )
      .where(sql<boolean>`octet_length(json) <= ${eventBytesMax}`)
      .orderBy('place', 'desc'),
  );
  return found.flatMap(({ id, json }) => {
    page.bytes += json.length;
    const event = searchableText(json);
    const ranges = event && findMatches(event.text, terms);
    if (event === undefined || ranges === undefined) return [];
    const { source, timestamp, text } = event;
    return [{ event_id: id, source, timestamp, ...snippetOf(text, ranges) }];
  });
}

interface Group {
  readonly key: number;
  readonly hits: Hit[];
  hasMore: boolean;
}

interface Groups {
  readonly groups: Group[];
  /** Whether there may be more conversations. */
  readonly hasMore: boolean;
}

/** Collects hits by conversation. After enough hits in one, its others are skipped. */
function* findGroups(q: Queries, search: Search, below: number, page: Page): Steps<Groups> {
  const groups: Group[] = [];
  let end: Hit = { key: below, id: 0 };
  for (let query = 0; query < queriesMax && !isFull(page); query++) {
    const hits = yield* findHits(q, search, { key: 0, id: 0 }, end);
    for (const hit of hits) {
      let group = groups.at(-1);
      if (group?.key !== hit.key) {
        if (groups.length === search.max) return { groups, hasMore: true };
        group = { key: hit.key, hits: [], hasMore: false };
        groups.push(group);
      }
      if (hit.id === titleId || group.hits.length < matchesMax) group.hits.push(hit);
      else group.hasMore = true;
    }
    const last = hits.at(-1);
    if (last === undefined || hits.length < hitsMax) return { groups, hasMore: false };
    const isSkipped = groups.at(-1)?.hasMore ?? false;
    end = isSkipped ? { key: last.key, id: 0 } : last;
  }
  return { groups, hasMore: true };
}

export interface FoundConversation {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly repository: string | null;
  readonly archived: number;
  readonly updated_at: number;
  readonly title_ranges: readonly Range[];
  readonly matches: readonly Match[];
  readonly more_matches: boolean;
}

function* describeGroup(
  q: Queries,
  { userId, terms }: Search,
  { key, hits, hasMore }: Group,
  page: Page,
): Steps<FoundConversation | undefined> {
  const conversation = yield* one(
    q.build
      .selectFrom('conversations')
      .select(['id', 'title', 'status', 'repository', 'archived', 'updated_at'])
      .where('key', '=', key)
      .where('user_id', '=', userId),
  );
  if (conversation === undefined) return undefined;
  const title_ranges = findMatches(conversation.title, terms) ?? [];
  const matches = yield* readMatches(q, hits, terms, page);
  if (title_ranges.length + matches.length === 0) return undefined;
  return { ...conversation, title_ranges, matches, more_matches: hasMore };
}

interface SearchAll extends Search {
  /** Conversations with smaller keys are searched. */
  readonly below: number;
}

interface FoundPage {
  readonly found: readonly FoundConversation[];
  /** The `below` of the next page; null at the end. */
  readonly next: number | null;
}

/** Searches all conversations of a user, newest first. */
export const searchAll = slowRead('search.all', function* (q, search: SearchAll): Steps<FoundPage> {
  const page: Page = { since: performance.now(), bytes: 0 };
  const { groups, hasMore } = yield* findGroups(q, search, search.below, page);
  const found: FoundConversation[] = [];
  for (const [i, group] of groups.entries()) {
    const described = yield* describeGroup(q, search, group, page);
    if (described !== undefined) found.push(described);
    if (isFull(page) && i < groups.length - 1) return { found, next: group.key };
  }
  return { found, next: hasMore ? (groups.at(-1)?.key ?? null) : null };
});

interface SearchOne extends Search {
  readonly key: number;
  /** Events with smaller ids are searched. */
  readonly below: number;
}

interface MatchPage {
  readonly matches: readonly Match[];
  readonly next: number | null;
}

/** Searches one conversation of the user, newest event first. */
export const searchOne = slowRead('search.one', function* (q, search: SearchOne): Steps<MatchPage> {
  const { key, below, max, terms } = search;
  const page: Page = { since: performance.now(), bytes: 0 };
  const hits = yield* findHits(q, search, { key, id: 0 }, { key, id: Math.min(below, titleId) });
  const matches: Match[] = [];
  for (const [i, hit] of hits.entries()) {
    matches.push(...(yield* readMatches(q, [hit], terms, page)));
    const hasMore = i < hits.length - 1 || hits.length === hitsMax;
    if (hasMore && (matches.length === max || isFull(page))) return { matches, next: hit.id };
  }
  return { matches, next: hits.length === hitsMax ? (hits.at(-1)?.id ?? null) : null };
});

export const findTransactions = [searchAll, searchOne];
