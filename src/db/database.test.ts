import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { newConversation } from '../../test/support/conversations.ts';
import {
  createStorage,
  databaseKinds,
  openTestDatabase,
  type TestStorage,
  withPostgres,
} from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { until } from '../../test/support/until.ts';
import { createConversation, findCreated } from '../conversations/create/store.ts';
import { deleteConversation } from '../conversations/lifecycle/store.ts';
import { openConfiguredDatabase } from '../database.ts';
import { keepFact } from '../encryption/store.ts';
import { conversationsMax } from '../events/eventKey.ts';
import { readEvents } from '../events/store.ts';
import { findKey } from '../keys/store.ts';
import { ensureUser, hasOneUser, listUserIds } from '../users/store.ts';
import { createCache } from './cache.ts';
import { migrations } from './migrate.ts';
import { forcedFrames } from './sqliteCheckpoints.ts';
import { tryWrite } from './writability.ts';

const pageBytes = 4_096;

for (const kind of databaseKinds) {
  describe(`the ${kind} database`, () => {
    it('applies every migration once, also when it is opened again', async (t) => {
      const database = await openTestDatabase(kind, t);
      const again = await openConfiguredDatabase(database, () => {});
      await again.close();
      const applied = await inspect(database, 'select name from migrations order by name');
      assert.deepEqual(
        applied.map((row) => row['name']),
        migrations.map(({ name }) => name),
      );
    });

    it('creates one row for many concurrent creations of one id', async (t) => {
      const database = await openTestDatabase(kind, t);
      const user = await database.run(ensureUser, 'ada');
      const both = ['{"source":"user"}', '{"source":"agent"}'];
      const same = newConversation(user.id, 'same', { events: both });
      const outcomes = await Promise.all(
        Array.from({ length: 40 }, () => database.run(createConversation, same)),
      );
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'created').length, 1);
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'existing').length, 39);
      const [events] = await inspect(database, 'select count(*) as n from event_log');
      assert.equal(Number(events?.['n']), 2);
    });

    it('undoes a transaction that fails and commits its neighbours', async (t) => {
      const database = await openTestDatabase(kind, t);
      const user = await database.run(ensureUser, 'ada');
      const unknownUser = 987_654;
      const outcomes = await Promise.allSettled([
        database.run(createConversation, newConversation(user.id, 'good-1')),
        database.run(createConversation, newConversation(unknownUser, 'bad')),
        database.run(createConversation, newConversation(user.id, 'good-2')),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      const ids = await inspect(database, 'select id from conversations order by id');
      assert.deepEqual(
        ids.map((row) => row['id']),
        ['good-1', 'good-2'],
      );
    });

    it('shows a write to the next read', async (t) => {
      const database = await openTestDatabase(kind, t);
      const user = await database.run(ensureUser, 'ada');
      for (let i = 0; i < 20; i++) {
        await database.run(createConversation, newConversation(user.id, `c${i}`));
        const lookup = { userId: user.id, fingerprint: 'f', id: `c${i}`, keyHash: null };
        assert.equal((await database.run(findCreated, lookup))?.outcome, 'existing');
      }
    });

    it('rejects callers once too many wait, and serves the others', async (t) => {
      const database = await openTestDatabase(kind, t);
      const many = 9_000;
      // The cheapest that waits: on a busy machine others would wait too long.
      const askCheaply = () =>
        kind === 'sqlite' ? database.run(tryWrite, 0) : database.run(hasOneUser, null);
      const outcomes = await Promise.allSettled(Array.from({ length: many }, askCheaply));
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      assert.ok(refused.length > 0 && refused.length < many, `${refused.length}`);
      for (const { reason } of refused)
        assert.deepEqual([reason.code, reason.retryAfterS], ['overloaded', 1]);
    });

    it('keeps the first of two facts', async (t) => {
      const database = await openTestDatabase(kind, t);
      const kept = await Promise.all(
        ['a', 'b', 'c'].map((value) => database.run(keepFact, { name: 'x', value })),
      );
      assert.equal(new Set(kept).size, 1);
    });

    it('creates a user once under concurrent first requests', async (t) => {
      const database = await openTestDatabase(kind, t);
      const made = await Promise.all(Array.from({ length: 20 }, () => database.run(ensureUser, 'ada')));
      assert.equal(new Set(made.map(({ id }) => id)).size, 1);
      assert.equal((await database.run(listUserIds, null)).length, 1);
    });

    it('treats text as text, whatever it looks like', async (t) => {
      const database = await openTestDatabase(kind, t);
      assert.equal(await database.run(findKey, "' or 1=1 --"), undefined);
      const odd = await database.run(ensureUser, 'Robert"); drop table users; --');
      assert.equal((await database.run(ensureUser, odd.name)).id, odd.id);
    });

    it('numbers many events across batches without a gap', async (t) => {
      const database = await openTestDatabase(kind, t);
      const user = await database.run(ensureUser, 'ada');
      const events = Array.from({ length: 203 }, (_, i) => `{"n":${i}}`);
      await database.run(createConversation, newConversation(user.id, 'many', { events }));
      const stored = await inspect(database, 'select id, json from event_log order by id');
      assert.deepEqual(
        stored.map((row) => [Number(row['id']), row['json']]),
        events.map((_, id) => [id, `{"id":${id},"n":${id}}`]),
      );
    });

    it('reads only the events of one conversation, whatever is asked for', async (t) => {
      const database = await openTestDatabase(kind, t);
      const user = await database.run(ensureUser, 'ada');
      const keys: number[] = [];
      for (const id of ['a', 'b', 'c', 'd']) {
        const made = await database.run(
          createConversation,
          newConversation(user.id, id, { events: ['{"n":1}', '{"n":2}'] }),
        );
        assert.ok(made.outcome === 'created');
        keys.push(made.key);
      }
      const far = 2 ** 53 - 1;
      const bounds = [-far, -1, 0, 1, 2, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 33, far];
      for (const conversation of keys)
        for (const from of bounds)
          for (const below of bounds)
            for (const newestFirst of [false, true]) {
              const piece = { conversation, from, below, newestFirst, max: 100, bytesMax: 1_000 };
              const ids = (await database.run(readEvents, piece)).map(({ id }) => id);
              const expected = [0, 1].filter((id) => id >= from && id < below);
              assert.deepEqual(ids, newestFirst ? expected.reverse() : expected, JSON.stringify(piece));
            }
    });

    it('works beyond millions of conversations', async (t) => {
      const database = await openTestDatabase(kind, t);
      const user = await database.run(ensureUser, 'ada');
      const events = ['{"n":1}'];
      await database.run(createConversation, newConversation(user.id, 'first'));
      const many = 2 ** 31 - 20;
      await execute(database, [
        kind === 'sqlite'
          ? `update sqlite_sequence set seq = ${many}`
          : `alter table conversations alter column key restart with ${many}`,
      ]);
      // One of the two finds the other, and the unknown user's fails, each in a group with others.
      const of = (id: string, userId = user.id) =>
        database.run(createConversation, newConversation(userId, id, { events }));
      const group = await Promise.allSettled([of('a'), of('a'), of('x', 987_654), of('b')]);
      assert.deepEqual(
        group
          .map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.outcome : 'rejected'))
          .toSorted(),
        ['created', 'created', 'existing', 'rejected'],
      );
      assert.equal((await of('b')).outcome, 'existing');
      const made = await of('c');
      assert.ok(made.outcome === 'created' && made.key >= many);
      const piece = { conversation: made.key, from: 0, below: 9, newestFirst: false, max: 9, bytesMax: 99 };
      const [event] = await database.run(readEvents, piece);
      assert.deepEqual({ ...event }, { id: 0, json: '{"id":0,"n":1}' });
      await database.run(deleteConversation, { userId: user.id, id: 'c', at: '' });
      assert.deepEqual(await database.run(readEvents, piece), []);
      // To the very last one that has a place; the next is refused, and nothing of it is stored.
      for (let i = made.key + 1; i < conversationsMax; i++) await of(`c${i}`);
      const last = { ...piece, conversation: conversationsMax - 1 };
      assert.equal((await database.run(readEvents, last)).length, 1);
      await assert.rejects(of('beyond'));
      assert.deepEqual(await inspect(database, "select id from conversations where id = 'beyond'"), []);
    });

    it('deletes only the events of one conversation', async (t) => {
      const database = await openTestDatabase(kind, t);
      const user = await database.run(ensureUser, 'ada');
      for (const id of ['a', 'b', 'c'])
        await database.run(
          createConversation,
          newConversation(user.id, id, { events: ['{"n":1}', '{"n":2}'] }),
        );
      await database.run(deleteConversation, { userId: user.id, id: 'b', at: '' });
      const left = await inspect(
        database,
        'select c.id, e.id as event from event_log e left join conversations c on c.key = e.conversation_key order by 1, 2',
      );
      assert.deepEqual(
        left.map((row) => [row['id'], Number(row['event'])]),
        [
          ['a', 0],
          ['a', 1],
          ['c', 0],
          ['c', 1],
        ],
      );
    });

    it('keeps the events of an older version', async (t) => {
      const storage = await createStorage(kind, { migrated: false });
      t.after(storage.remove);
      const older = migrations
        .slice(0, 6)
        .flatMap(({ name, statements }) => [
          ...statements(kind),
          `insert into migrations values ('${name}', 0)`,
        ]);
      await execute(storage, [
        'create table migrations (name text not null primary key, applied_at bigint not null)',
        ...older,
        `insert into events values (5, 1, 'b'), (5, 0, 'a'), (2147483647, 4294967294, 'c')`,
      ]);
      const database = await openConfiguredDatabase(storage, () => {});
      t.after(() => database.close());
      const rows = await inspect(storage, 'select conversation_key, id, json from event_log order by json');
      assert.deepEqual(
        rows.map((row) => [Number(row['conversation_key']), Number(row['id']), row['json']]),
        [
          [5, 0, 'a'],
          [5, 1, 'b'],
          [2_147_483_647, 4_294_967_294, 'c'],
        ],
      );
    });

    it('knows the agents of conversations of an older version by their sessions', async (t) => {
      const database = await openTestDatabase(kind, t);
      const user = await database.run(ensureUser, 'ada');
      for (const id of ['a', 'b']) await database.run(createConversation, newConversation(user.id, id));
      await execute(database, [
        "update conversations set agent_session = 'codex session 1' where id = 'a'",
        'alter table conversations drop column agent',
        "delete from migrations where name = '0008-conversation-agent'",
      ]);
      const again = await openConfiguredDatabase(database, () => {});
      await again.close();
      const rows = await inspect(database, 'select agent from conversations order by id');
      assert.deepEqual(
        rows.map((row) => row['agent']),
        ['codex', null],
      );
    });
  });
}

describe('a cache', () => {
  it('keeps nothing that was read before a write', async () => {
    const listeners: (() => void)[] = [];
    const database = { onForeignChange: (listener: () => void) => void listeners.push(listener) };
    const cache = createCache<string>(database as Parameters<typeof createCache>[0], { entriesMax: 2 });
    await cache.load('a', async () => {
      cache.forget('a');
      return 'stale';
    });
    assert.equal(cache.find('a'), undefined);
    await cache.load('a', async () => 'fresh');
    assert.equal(cache.find('a'), 'fresh');
    for (const listener of listeners) listener();
    assert.equal(cache.find('a'), undefined);
  });

  it('drops the least recently used entry at its limit, and never keeps what was not found', async () => {
    const database = { onForeignChange: () => {} };
    const cache = createCache<string>(database as unknown as Parameters<typeof createCache>[0], {
      entriesMax: 2,
    });
    for (const key of ['a', 'b']) await cache.load(key, async () => key);
    assert.equal(cache.find('a'), 'a');
    await cache.load('c', async () => 'c');
    assert.deepEqual([cache.find('a'), cache.find('b'), cache.find('c')], ['a', undefined, 'c']);
    assert.equal(await cache.load('d', async () => undefined), undefined);
    assert.equal(cache.find('d'), undefined);
  });
});

describe('the write-ahead log of SQLite', () => {
  it('is checkpointed while it is written to, before a commit would have to', async (t) => {
    const { dataDir, ...database } = await openTestDatabase('sqlite', t);
    const sizeOf = (file: string) => statSync(join(dataDir, file)).size;
    const [valueBytes, values] = [100_000, 40];
    let written = 0;
    await until('the log to begin anew', async () => {
      for (let i = 0; i < values; i++)
        await database.run(keepFact, { name: `fact-${written}-${i}`, value: 'x'.repeat(valueBytes) });
      written += valueBytes * values;
      assert.ok(sizeOf('parley.db-wal') < forcedFrames * pageBytes);
      return sizeOf('parley.db-wal') < (written * 3) / 4;
    });
    assert.ok(sizeOf('parley.db') > written / 2);
  });
});

describe('an older SQLite file', () => {
  it('keeps its conversations through every migration, and never reuses a key', async (t) => {
    const storage = await createStorage('sqlite');
    t.after(storage.remove);
    const { userId, id } = await writeOldFile(storage.dataDir);
    const database = await openConfiguredDatabase(storage, () => {});
    t.after(() => database.close());
    const old = { userId, id, fingerprint: 'f', keyHash: null };
    assert.equal((await database.run(findCreated, old))?.outcome, 'existing');
    const made = await database.run(createConversation, newConversation(userId, 'second'));
    await database.run(deleteConversation, { userId, id: 'second', at: '' });
    const again = await database.run(createConversation, newConversation(userId, 'second'));
    assert.ok(made.outcome === 'created' && again.outcome === 'created' && again.key > made.key);
  });
});

async function execute({ dataDir, databaseUrl }: TestStorage, statements: readonly string[]): Promise<void> {
  if (databaseUrl !== undefined)
    return withPostgres(databaseUrl, async (client) => {
      for (const statement of statements) await client.query(statement);
    });
  const file = new DatabaseSync(join(dataDir, 'parley.db'));
  for (const statement of statements) file.exec(statement);
  file.close();
}

/** As the second migration left it, with one conversation. */
async function writeOldFile(dataDir: string): Promise<{ userId: number; id: string }> {
  const file = new DatabaseSync(join(dataDir, 'parley.db'));
  file.exec('create table migrations (name text not null primary key, applied_at bigint not null)');
  for (const { name, statements } of migrations.slice(0, 2)) {
    for (const statement of statements('sqlite')) file.exec(statement);
    file.prepare('insert into migrations values (?, 0)').run(name);
  }
  file.exec(`insert into users values (7, 'ada', 0);
    insert into conversations values (3, 7, 'first', 'f', 'STARTING', 't', 'gui', null, null, null, '{}', null, 0, 0, 0)`);
  file.close();
  return { userId: 7, id: 'first' };
}
