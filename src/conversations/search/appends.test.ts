import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import { statementsOf } from '../../../test/support/plans.ts';
import { said } from '../../../test/support/searches.ts';
import { createPostgresQueries, createSqliteQueries } from '../../db/queries.ts';
import { startConversation } from '../lifecycle/store.ts';
import { appendEvents, type LockedConversation } from '../row.ts';

const locked: LockedConversation = {
  key: 1,
  user_id: 1,
  id: 'one',
  status: 'RUNNING',
  title: 'one',
  run_id: null,
  next_event: 5,
  turn_open: 0,
  question: null,
  said: 0,
  heard: 0,
  stop_code: null,
  stop_sentence: null,
  pinned: 0,
  archived: 0,
  seen: 0,
};

for (const kind of databaseKinds)
  describe(`an append on ${kind}`, () => {
    const q = kind === 'sqlite' ? createSqliteQueries() : createPostgresQueries();

    it('takes the same three statements as without a search: ids, event, webhooks', () => {
      const statements = statementsOf(appendEvents(q, locked, [said('hello')]), [[{ next_event: 6 }]]);
      assert.equal(statements.length, 3);
      assert.match(statements[0] ?? '', /^update "conversations"/);
      assert.match(statements[1] ?? '', /^insert into "events"/);
      assert.match(statements[2] ?? '', /webhooks/);
      assert.doesNotMatch(statements.join('\n'), /search_/);
    });

    it('of a message does not touch the index', () => {
      const input = { userId: 1, id: 'one', message: [said('hi')], waking: [], waitingMax: 0, at: '' };
      const statements = statementsOf(startConversation.steps(q, input), [[locked]]);
      assert.doesNotMatch(statements.join('\n'), /search_/);
    });

    it('does nothing for the index behind its back: there are no triggers, and no index on what it changes', async (t) => {
      const storage = await openTestDatabase(kind, t);
      const triggers = await inspect(
        storage,
        kind === 'sqlite'
          ? "select name from sqlite_master where type = 'trigger'"
          : 'select tgname as name from pg_trigger where not tgisinternal',
      );
      assert.deepEqual(triggers, []);
      const indexes = await inspect(
        storage,
        kind === 'sqlite'
          ? "select sql as text from sqlite_master where type = 'index' and tbl_name in ('events', 'conversations') and sql is not null"
          : "select indexdef as text from pg_indexes where tablename in ('events', 'conversations')",
      );
      for (const { text } of indexes)
        assert.doesNotMatch(String(text), /next_event|updated_at|json|tsvector/);
    });
  });
