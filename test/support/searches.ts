// A database with conversations, the indexer of the search, and searches in it.
import type { TestContext } from 'node:test';
import { createConversation } from '../../src/conversations/create/store.ts';
import { searchAll } from '../../src/conversations/search/findStore.ts';
import { createIndexer } from '../../src/conversations/search/indexer.ts';
import { parseQuery } from '../../src/conversations/search/query.ts';
import type { Database, DatabaseKind } from '../../src/db/transaction.ts';
import { conversationsMax } from '../../src/events/eventKey.ts';
import { eventText, userMessage } from '../../src/events/shapes.ts';
import { ensureUser } from '../../src/users/store.ts';
import { newConversation, someTime } from './conversations.ts';
import { openTestDatabase } from './databases.ts';

export function said(text: string): string {
  return eventText(userMessage(text, [], []), someTime);
}

export function ran(command: string, output: string): string[] {
  const call = { source: 'agent', tool_call_id: 't', timestamp: someTime };
  return [
    JSON.stringify({ ...call, message: '', action: 'run', args: { command, thought: '' } }),
    JSON.stringify({
      ...call,
      message: '',
      observation: 'run',
      content: output,
      extras: { command, metadata: { exit_code: 0 }, outcome: 'completed' },
    }),
  ];
}

export function edited(path: string): string {
  const args = { path, operation: 'edit', thought: '' };
  return JSON.stringify({
    source: 'agent',
    tool_call_id: 't',
    timestamp: someTime,
    message: '',
    action: 'edit',
    args,
  });
}

/** An indexer that works only when told to. */
export function manualIndexer(database: Database, owner: string, steady: () => number = () => 0) {
  const failures: Error[] = [];
  const indexer = createIndexer({
    database,
    owner,
    onBackgroundError: (error) => failures.push(error),
    clock: { steady, every: () => ({ stop: () => {} }) },
  });
  return {
    ...indexer,
    pass: async (): Promise<void> => {
      await indexer.pass();
      const [failure] = failures.splice(0);
      if (failure !== undefined) throw failure;
    },
  };
}

export async function searchIn(database: Database, userId: number, text: string, max = 20) {
  const search = { userId, terms: parseQuery(text), max, below: conversationsMax };
  return (await database.run(searchAll, search)).found;
}

export async function openSearches(kind: DatabaseKind, t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const { id: userId } = await database.run(ensureUser, 'ada');
  const indexer = manualIndexer(database, 'one');
  return {
    database,
    userId,
    indexer,
    create: (id: string, events: readonly string[], owner = userId, title = id) =>
      database.run(createConversation, newConversation(owner, id, { events, title })),
    search: (text: string, owner = userId) => searchIn(database, owner, text),
    /** The ids of what is found. */
    find: async (text: string, owner = userId): Promise<string[]> =>
      (await searchIn(database, owner, text)).map(({ id }) => id),
  };
}
