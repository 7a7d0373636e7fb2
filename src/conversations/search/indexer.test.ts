import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { someTime } from '../../../test/support/conversations.ts';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countRows, inspect } from '../../../test/support/inspect.ts';
import { edited, manualIndexer, openSearches, ran, said } from '../../../test/support/searches.ts';
import { ensureUser } from '../../users/store.ts';
import { changeConversation, deleteConversation, startConversation } from '../lifecycle/store.ts';
import { indexPiece } from './indexStore.ts';

for (const kind of databaseKinds)
  describe(`the search index on ${kind}`, () => {
    it('has titles, messages, commands, output and paths, and nothing else', async (t) => {
      const { create, indexer, find } = await openSearches(kind, t);
      const events = [
        said('please fix the parser'),
        ...ran('npm test', '3 failing: tokenizer'),
        edited('src/lexer.ts'),
        JSON.stringify({
          source: 'agent',
          message: '',
          action: 'think',
          args: { thought: 'secretly pondering' },
        }),
      ];
      await create('one', events, undefined, 'Nightly build');
      await indexer.pass();
      for (const words of ['nightly', 'parser', 'npm', 'tokenizer', 'lexer.ts', 'PARSER fix'])
        assert.deepEqual(await find(words), ['one'], words);
      for (const words of ['pondering', 'absent', 'parser npm', 'user'])
        assert.deepEqual(await find(words), []);
    });

    it('follows new events and titles', async (t) => {
      const { create, database, userId, indexer, find } = await openSearches(kind, t);
      await create('one', [said('first')], undefined, 'Old name');
      await indexer.pass();
      const name = { userId, id: 'one', at: someTime };
      await database.run(startConversation, {
        ...name,
        message: [said('second')],
        waking: [],
        waitingMax: 0,
      });
      await database.run(changeConversation, { ...name, title: 'New name' });
      assert.deepEqual(await find('second'), []);
      const later = manualIndexer(database, 'one');
      await later.pass();
      assert.deepEqual(await find('second'), ['one']);
      assert.deepEqual(await find('new name'), ['one']);
      assert.deepEqual(await find('old'), []);
    });

    it('has each event once, also if the answer to a step was lost or another process has done it', async (t) => {
      const { create, database, indexer, find } = await openSearches(kind, t);
      await create('one', [said('apple'), said('banana')]);
      const [row] = await inspect(database, 'select key from conversations');
      const documents = [{ id: 0, words: ['apple'] }];
      const piece = { key: Number(row?.['key']), from: 0, to: 1, title: '', documents };
      assert.equal(await database.run(indexPiece, piece), true);
      assert.equal(await database.run(indexPiece, piece), false);
      await indexer.pass();
      // Two events and the title.
      assert.equal(await countRows(database, 'search_documents'), 3);
      assert.deepEqual(await find('banana'), ['one']);
    });

    it('takes turns: a long log does not delay others', async (t) => {
      const { create, indexer, find } = await openSearches(kind, t);
      await create('short', [said('needle')]);
      await create(
        'long',
        Array.from({ length: 6_000 }, (_, i) => said(`hay ${i}`)),
      );
      await indexer.pass();
      assert.deepEqual(await find('needle'), ['short']);
      assert.deepEqual(await find('5999'), []);
      await indexer.pass();
      assert.deepEqual(await find('5999'), ['long']);
    });

    it('forgets a deleted conversation, also one that an older version has deleted', async (t) => {
      const { create, database, userId, indexer, find } = await openSearches(kind, t);
      await create('one', [said('apple')]);
      await create('two', [said('apple')]);
      await indexer.pass();
      assert.deepEqual(await find('apple'), ['two', 'one']);
      await database.run(deleteConversation, { userId, id: 'one', at: someTime });
      assert.deepEqual(await find('apple'), ['two']);
      assert.equal(await countRows(database, 'search_documents'), 2);
      await inspect(database, "delete from conversations where id = 'two'");
      assert.deepEqual(await find('apple'), []);
      await manualIndexer(database, 'one').pass();
      assert.equal(await countRows(database, 'search_documents'), 0);
      assert.equal(await countRows(database, 'search_positions'), 0);
    });

    it('adds nothing for a conversation that was deleted meanwhile', async (t) => {
      const { create, database, userId } = await openSearches(kind, t);
      await create('one', [said('apple')]);
      const [row] = await inspect(database, 'select key from conversations');
      await database.run(deleteConversation, { userId, id: 'one', at: someTime });
      const documents = [{ id: 0, words: ['apple'] }];
      const piece = { key: Number(row?.['key']), from: 0, to: 1, title: 'one', documents };
      assert.equal(await database.run(indexPiece, piece), false);
      assert.equal(await countRows(database, 'search_documents'), 0);
    });

    it('is of one user alone', async (t) => {
      const { create, database, userId, indexer, find } = await openSearches(kind, t);
      const { id: other } = await database.run(ensureUser, 'grace');
      await create('mine', [said('shared word')]);
      await create('theirs', [said('shared word')], other);
      await indexer.pass();
      assert.deepEqual(await find('shared', userId), ['mine']);
      assert.deepEqual(await find('shared', other), ['theirs']);
      assert.deepEqual(await find(`u${other}`, userId), []);
    });
  });

describe('several processes on PostgreSQL', () => {
  it('index one at a time, and another goes on when the first stops or its lease ends', async (t) => {
    const { create, database, find } = await openSearches('postgres', t);
    let now = 0;
    const first = manualIndexer(database, 'first', () => now);
    const second = manualIndexer(database, 'second', () => now);
    await create('one', [said('apple')]);
    await first.pass();
    await create('two', [said('banana')]);
    await second.pass();
    assert.deepEqual(await find('banana'), []);
    await first.close();
    now += 10_000;
    await second.pass();
    assert.deepEqual(await find('banana'), ['two']);
    // The process is killed: its lease stays, and ends.
    await inspect(
      database,
      "update facts set value = replace(value, 'second', 'dead') where name = 'search-claim'",
    );
    const third = manualIndexer(database, 'third', () => now);
    await create('three', [said('cherry')]);
    await third.pass();
    assert.deepEqual(await find('cherry'), []);
    await inspect(
      database,
      `update facts set value = '{"owner":"dead","until":1}' where name = 'search-claim'`,
    );
    now += 10_000;
    await third.pass();
    assert.deepEqual(await find('cherry'), ['three']);
  });
});
