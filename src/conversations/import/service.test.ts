import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { countRows, countStrays, storedConversations } from '../../../test/support/inspect.ts';
import type { Database, DatabaseKind } from '../../db/transaction.ts';
import { openVault } from '../../encryption/vault.ts';
import { readEvents } from '../../events/store.ts';
import { ensureUser } from '../../users/store.ts';
import { findConversation } from '../list/store.ts';
import { createImports, type ImportedConversation } from './service.ts';

const described: ReturnType<ImportedConversation['describe']> = {
  title: 'An old conversation',
  trigger: 'gui',
  repository: 'acme/shop',
  branch: null,
  gitProvider: 'github',
  request: '{}',
  createdAtMs: 1_700_000_000_000,
  updatedAtMs: 1_700_000_001_000,
  model_requests: 0,
  input_tokens: 10,
  output_tokens: 20,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cost_nanos: 5,
};

function event(n: number): string {
  return JSON.stringify({ action: 'message', args: { content: `message ${n}` }, replayed: true });
}

/** A log of so many pieces. It throws before the piece `failAt`. */
function conversationOf(pieces: number, eventsEach: number, failAt = -1): ImportedConversation {
  function* read() {
    for (let piece = 0; piece < pieces; piece++) {
      if (piece === failAt) throw new Error('the source went away');
      yield Array.from({ length: eventsEach }, (_, i) => event(piece * eventsEach + i));
    }
  }
  return { pieces: read(), describe: () => described };
}

async function begin(kind: DatabaseKind, t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const { id: userId } = await database.run(ensureUser, 'owner');
  const vault = await openVault({ database, dataDir: database.dataDir, secretKeys: [] });
  return {
    database,
    vault,
    userId,
    imports: createImports({ database, vault }),
    name: { userId, id: 'old' },
  };
}

for (const kind of databaseKinds) {
  describe(`imported conversations on ${kind}`, () => {
    for (const [length, pieces] of [
      ['no events', 0],
      ['one piece', 1],
      ['several pieces', 4],
    ] as const)
      it(`are stored stopped, with a log of ${length}`, async (t) => {
        const { database, imports, name } = await begin(kind, t);
        assert.equal(await imports.store(name, conversationOf(pieces, 150)), 'imported');
        const row = await database.run(findConversation, name);
        assert.equal(row?.status, 'STOPPED');
        assert.deepEqual([row?.created_at, row?.updated_at], [1_700_000_000_000, 1_700_000_001_000]);
        assert.deepEqual([row?.said, row?.heard], [pieces * 150, pieces * 150]);
        const [stored] = await storedConversations(database);
        assert.deepEqual([stored?.next_event, stored?.events], [pieces * 150, pieces * 150]);
        const last = await database.run(readEvents, {
          conversation: row?.key ?? 0,
          ...{ from: 0, below: 10_000, newestFirst: true, max: 1, bytesMax: 10_000 },
        });
        const ids = last.map(({ json }) => JSON.parse(json).id);
        assert.deepEqual(ids, pieces === 0 ? [] : [pieces * 150 - 1]);
        assert.equal(await countRows(database, 'imports'), 0);
      });

    it('are found by a second import, which stores nothing', async (t) => {
      const { database, imports, name } = await begin(kind, t);
      for (const pieces of [1, 3]) {
        const one = { ...name, id: `old-${pieces}` };
        assert.equal(await imports.find(one), undefined);
        assert.equal(await imports.store(one, conversationOf(pieces, 10)), 'imported');
        assert.equal(await imports.find(one), 'exists');
        assert.equal(await imports.store(one, conversationOf(pieces, 10)), 'exists');
      }
      assert.equal(await countRows(database, 'conversations'), 2);
      assert.equal(await countRows(database, 'events'), 40);
      assert.equal(await countStrays(database), 0);
    });

    it('are invisible until the log is complete, and an interrupted import can be repeated', async (t) => {
      const { database, imports, name, userId } = await begin(kind, t);
      await assert.rejects(imports.store(name, conversationOf(5, 100, 3)), /the source went away/);
      assert.equal(await countRows(database, 'conversations'), 0);
      assert.equal(await countRows(database, 'events'), 300);
      assert.equal(await imports.store(name, conversationOf(5, 100)), 'taken', 'the first is in the way');
      await imports.discardUnfinished(userId);
      assert.equal(await countRows(database, 'events'), 0);
      assert.equal(await imports.store(name, conversationOf(5, 100)), 'imported');
      assert.equal(await countRows(database, 'events'), 500);
      assert.equal(await countStrays(database), 0);
    });

    it('end if another import discards them, and store nothing', async (t) => {
      const { database, vault, imports, name, userId } = await begin(kind, t);
      let appended = 0;
      const run: Database['run'] = async (transaction, input, options) => {
        if (transaction.name === 'imports.append' && ++appended === 3)
          await imports.discardUnfinished(userId);
        return database.run(transaction, input, options);
      };
      const slow = createImports({ database: { ...database, run }, vault });
      assert.equal(await slow.store(name, conversationOf(5, 10)), 'discarded');
      assert.equal(await countRows(database, 'conversations'), 0);
      assert.equal(await countRows(database, 'events'), 0);
    });

    it('never replace a conversation that has the id', async (t) => {
      const { database, imports, name, userId } = await begin(kind, t);
      const other = createImports({ database, vault: { fingerprint: (text) => `other ${text}` } });
      assert.equal(await other.store(name, conversationOf(1, 3)), 'imported');
      assert.equal(await imports.find(name), 'taken');
      assert.equal(await imports.store(name, conversationOf(1, 5)), 'taken');
      assert.equal(await imports.store(name, conversationOf(3, 5)), 'taken');
      await imports.discardUnfinished(userId);
      assert.equal(await countRows(database, 'events'), 3);
    });
  });
}
