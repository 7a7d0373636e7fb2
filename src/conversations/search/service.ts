// Searches titles and what was said in the conversations of a user.
import { ReadTimeout } from '../../db/outcomes.ts';
import type { Database, Transaction } from '../../db/transaction.ts';
import { invalid } from '../../errors.ts';
import { conversationsMax, eventIdsMax } from '../../events/eventKey.ts';
import type { Principal } from '../../keys/principal.ts';
import { wholeNumber } from '../../validation/schema.ts';
import { conversationName, noConversation } from '../id.ts';
import { findConversation } from '../list/store.ts';
import type { ConversationStatus } from '../states.ts';
import { type FoundConversation, type Match, searchAll, searchOne } from './findStore.ts';
import { parseQuery, queryWordsMax, type Term } from './query.ts';
import {
  type ConversationMatches,
  type SearchQuery,
  type SearchResults,
  searchDefault,
  searchMax,
} from './schema.ts';

export type Search = ReturnType<typeof createSearch>;

function fault(path: keyof SearchQuery, message: string) {
  return invalid([{ path, message }]);
}

function termsOf(q: string): Term[] {
  const terms = parseQuery(q);
  if (terms.length === 0) throw fault('q', 'must contain a letter or a digit');
  if (terms.reduce((sum, { words }) => sum + words.length, 0) > queryWordsMax)
    throw fault('q', `must have at most ${queryWordsMax} words`);
  return terms;
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return searchDefault;
  const limit = wholeNumber(text, searchMax);
  if (limit === undefined) throw fault('limit', `must be a whole number from 1 to ${searchMax}`);
  return limit;
}

function pageId(position: number | null): string | null {
  return position === null ? null : Buffer.from(`s${position}`).toString('base64url');
}

/** The position of a page, or the one before which everything is. */
function positionOf(pageId: string | undefined, end: number): number {
  if (pageId === undefined) return end;
  const [, digits] = /^s(\d{1,10})$/.exec(Buffer.from(pageId, 'base64url').toString()) ?? [];
  if (digits === undefined || Number(digits) > end)
    throw fault('page_id', 'must be the next_page_id of a previous page');
  return Number(digits);
}

function toMatch({ source, ranges, ...match }: Match): ConversationMatches['matches'][number] {
  return { ...match, source: source as 'user' | 'agent' | 'environment', ranges: [...ranges] };
}

function toResult(found: FoundConversation): SearchResults['results'][number] {
  return {
    conversation_id: found.id,
    title: found.title,
    title_ranges: [...found.title_ranges],
    status: found.status as ConversationStatus,
    selected_repository: found.repository,
    archived: found.archived === 1,
    last_updated_at: new Date(found.updated_at).toISOString(),
    matches: found.matches.map(toMatch),
    more_matches: found.more_matches,
  };
}

export function createSearch({ database }: { readonly database: Database }) {
  /** Reports a timeout as an invalid `q`, because more or longer words make the search faster. */
  async function run<In, Out>(transaction: Transaction<In, Out>, input: In): Promise<Out> {
    try {
      return await database.run(transaction, input);
    } catch (error) {
      if (error instanceof ReadTimeout)
        throw fault('q', 'matches too much to be searched in time; use more or longer words');
      throw error;
    }
  }

  return {
    /** Searches all conversations, the newest first. */
    all: async ({ userId }: Principal, query: SearchQuery): Promise<SearchResults> => {
      const terms = termsOf(query.q);
      const below = positionOf(query.page_id, conversationsMax);
      const { found, next } = await run(searchAll, { userId, terms, max: limitOf(query.limit), below });
      return { results: found.map(toResult), next_page_id: pageId(next) };
    },
    /** Searches the events of one conversation, the newest first. */
    one: async (principal: Principal, id: string, query: SearchQuery): Promise<ConversationMatches> => {
      const terms = termsOf(query.q);
      const below = positionOf(query.page_id, eventIdsMax);
      const max = limitOf(query.limit);
      const conversation = await database.run(findConversation, conversationName(principal, id));
      if (conversation === undefined) throw noConversation();
      const { userId } = principal;
      const search = { userId, terms, max, below, key: conversation.key };
      const { matches, next } = await run(searchOne, search);
      return { matches: matches.map(toMatch), next_page_id: pageId(next) };
    },
  };
}
