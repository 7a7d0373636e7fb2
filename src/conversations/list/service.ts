// One conversation, or a page of them, newest first.
import { setImmediate } from 'node:timers/promises';
import { conversationTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { invalid } from '../../errors.ts';
import type { Principal } from '../../keys/principal.ts';
import type { Keys } from '../../keys/service.ts';
import { isTrue, wholeNumber } from '../../validation/schema.ts';
import { conversationName, noConversation } from '../id.ts';
import { marksOf, positionsOf } from '../marks.ts';
import { agentStateOf, type ConversationStatus, reasonOf } from '../states.ts';
import { toUsage } from '../usage/shape.ts';
import { progressOf, runtimeStatusOf } from './progress.ts';
import { type ConversationInfo, type ConversationList, type ListQuery, listMax } from './schema.ts';
import { type ConversationRow, findConversation, type ListPosition, listConversations } from './store.ts';

const listDefault = 20;
/** How many rows a filter reads in one query and in one request. Then the page ends, and the next one continues. */
const scannedRowsMax = 5_000;
const queriesMax = 20;

interface ListingOptions {
  readonly database: Database;
  readonly keys: Pick<Keys, 'conversationKeys'>;
  /** How many subscribers a log has. */
  readonly subscribers: (topic: string) => number;
}

export type Listing = ReturnType<typeof createListing>;

function listLimit(text: string | undefined): number {
  if (text === undefined) return listDefault;
  const limit = wholeNumber(text, listMax);
  if (limit === undefined)
    throw invalid([{ path: 'limit', message: `must be a whole number from 1 to ${listMax}` }]);
  return limit;
}

function pageId({ at, key }: ListPosition): string {
  return Buffer.from(`${at}.${key}`).toString('base64url');
}

function readPageId(text: string | undefined): ListPosition | null {
  if (text === undefined) return null;
  const [, at, key] = /^(\d{1,15})\.(\d{1,15})$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (at === undefined || key === undefined)
    throw invalid([{ path: 'page_id', message: 'must be the next_page_id of a previous page' }]);
  return { at: Number(at), key: Number(key) };
}

function flagOf(text: string | undefined): boolean | null {
  return text === undefined ? null : isTrue(text);
}

/** Depends on who asks, and under which URL. */
interface InfoContext {
  readonly baseUrl: string;
  readonly keyOf: (conversation: ConversationRow) => string | null;
}

export function createListing({ database, keys, subscribers }: ListingOptions) {
  function toInfo(row: ConversationRow, { baseUrl, keyOf }: InfoContext): ConversationInfo {
    const status = row.status as ConversationStatus;
    return {
      conversation_id: row.id,
      title: row.title,
      last_updated_at: new Date(row.updated_at).toISOString(),
      status,
      agent_state: agentStateOf(row),
      runtime_status: runtimeStatusOf(row),
      start_progress: progressOf(row),
      selected_repository: row.repository,
      selected_branch: row.branch,
      git_provider: row.git_provider,
      trigger: row.trigger,
      num_connections: subscribers(conversationTopic(row.key)),
      url: `${baseUrl}/api/conversations/${encodeURIComponent(row.id)}`,
      session_api_key: keyOf(row),
      created_at: new Date(row.created_at).toISOString(),
      pr_number: [],
      stop_reason: reasonOf(row),
      usage: toUsage(row),
      agent: row.agent,
      llm_model: row.llm_model,
      confirmation_mode: row.confirmation_mode === null ? null : row.confirmation_mode === 1,
      client_folder: row.client_folder,
      ...marksOf(row),
      ...positionsOf(row),
      forked_from:
        row.forked_from === null
          ? null
          : { conversation_id: row.forked_from, event_id: row.forked_event ?? 0 },
    };
  }

  /** Returns null if the user has no such conversation. */
  async function info(principal: Principal, id: string, baseUrl: string): Promise<ConversationInfo | null> {
    const row = await database.run(findConversation, conversationName(principal, id));
    const keyOf = await keys.conversationKeys(principal);
    return row === undefined ? null : toInfo(row, { baseUrl, keyOf });
  }

  /** Throws if the user has no such conversation. */
  async function runOf(principal: Principal, id: string): Promise<string | null> {
    const row = await database.run(findConversation, conversationName(principal, id));
    if (row === undefined) throw noConversation();
    return row.run_id;
  }

  async function list(principal: Principal, query: ListQuery, baseUrl: string): Promise<ConversationList> {
    const { userId } = principal;
    const limit = listLimit(query.limit);
    let after = readPageId(query.page_id);
    const words = query.q?.trim().toLowerCase();
    const filter = {
      userId,
      repository: query.selected_repository ?? null,
      trigger: query.conversation_trigger ?? null,
      status: query.status ?? null,
      clientFolder: query.client_folder ?? null,
      pinned: flagOf(query.pinned),
      archived: flagOf(query.archived),
      unread: flagOf(query.unread),
      words: words === undefined || words === '' ? null : words,
      scannedMax: scannedRowsMax,
    };
    const found: ConversationRow[] = [];
    for (let attempt = 0; attempt < queriesMax; attempt++) {
      // One more row shows whether there is another page.
      const max = limit + 1 - found.length;
      const { rows, end } = await database.run(listConversations, { ...filter, after, max });
      found.push(...rows);
      after = end;
      if (found.length > limit || end === null) break;
      // Lets other requests run, because SQLite reads on this thread.
      await setImmediate();
    }
    const results = found.slice(0, limit);
    const last = results.at(-1);
    const more = found.length > limit && last !== undefined;
    const next = more ? { at: last.created_at, key: last.key } : after;
    const keyOf = await keys.conversationKeys(principal);
    const infos = results.map((row) => toInfo(row, { baseUrl, keyOf }));
    return { results: infos, next_page_id: next === null ? null : pageId(next) };
  }

  return { info, runOf, list };
}
