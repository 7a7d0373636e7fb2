import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createConversation } from '../../src/conversations/create/store.ts';
import { tryWrite } from '../../src/db/writability.ts';
import { storeSettings } from '../../src/settings/store.ts';
import { newConversation } from '../support/conversations.ts';
import { createStorage, postgresUrl, type TestStorage, withPostgres } from '../support/databases.ts';
import { inspect } from '../support/inspect.ts';
import type { PostgresMessage } from '../support/postgresMessages.ts';
import { once, openThroughProxy, type Proxied } from '../support/postgresThroughProxy.ts';
import { until, watch } from '../support/until.ts';

type Test = Parameters<typeof openThroughProxy>[0];

/** Every kind of message of a connection and of a transaction on it. */
const steps: Readonly<Record<string, (message: PostgresMessage) => boolean>> = {
  startup: ({ name }) => name === 'Startup',
  'the request for a password': ({ name }) => name === 'Authentication',
  'the password': ({ name }) => name === 'Password',
  'the key of the session': ({ name }) => name === 'BackendKeyData',
  'the greeting': ({ name }) => name === 'ReadyForQuery',
  BEGIN: ({ name, text }) => name === 'Query' && text.startsWith('begin'),
  'the answer to BEGIN': ({ name, text }) => name === 'CommandComplete' && text === 'BEGIN',
  Parse: ({ name }) => name === 'Parse',
  Bind: ({ name }) => name === 'Bind',
  Execute: ({ name }) => name === 'Execute',
  Sync: ({ name }) => name === 'Sync',
  ParseComplete: ({ name }) => name === 'ParseComplete',
  BindComplete: ({ name }) => name === 'BindComplete',
  'a row': ({ name }) => name === 'DataRow',
  'the end of a statement': ({ name, isPrepared }) => name === 'CommandComplete' && isPrepared,
  COMMIT: ({ name, text }) => name === 'Query' && text.endsWith('commit'),
  'the answer to COMMIT': ({ name, text }) => name === 'CommandComplete' && text === 'COMMIT',
};

/** A write that is not repeated: it moves the version of the settings, and adds a line to the audit. */
function settingsWrite(userId: number, expectedVersion = 0) {
  const audit = [{ userId, keyId: 'k', action: 'settings.change' as const, subject: 's' }];
  return { userId, expectedVersion, document: '{"a":1}', secrets: [], audit };
}

interface Opened extends Proxied {
  readonly userId: number;
}

/** How many writes to the settings of this user are stored, by two counts. */
async function storedWrites({ storage, userId }: Opened): Promise<number> {
  const [row] = await inspect(
    storage,
    `select (select count(*) from audit where user_id = ${userId}) as audited,
      (select version from settings where user_id = ${userId}) as version`,
  );
  assert.equal(Number(row?.['audited'] ?? 0), Number(row?.['version'] ?? 0));
  return Number(row?.['version'] ?? 0);
}

/** The outcome of one settings write: `stored`, or the code of its failure. */
function writeSettings({ database, userId }: Opened, ms = 10_000): Promise<string> {
  const options = { deadline: performance.now() + ms };
  return database.run(storeSettings, settingsWrite(userId), options).catch((error) => error.code);
}

let storage: TestStorage;
let users = 0;

before(async () => {
  storage = await createStorage('postgres');
});
after(() => storage.remove());

/** With a pool that has no connection yet, and a user of its own. */
async function open(t: Test): Promise<Opened> {
  const proxied = await openThroughProxy(t, storage);
  const name = `user-${users++}`;
  const { rows } = await withPostgres(storage.databaseUrl ?? '', (client) =>
    client.query('insert into users (name, created_at) values ($1, 0) returning id', [name]),
  );
  return { ...proxied, userId: Number(rows[0].id) };
}

describe('a connection to PostgreSQL that is cut', { timeout: 300_000, concurrency: 6 }, () => {
  for (const [step, matches] of Object.entries(steps))
    for (const verdict of ['cut', 'cutAfter'] as const) {
      const where = `${verdict === 'cut' ? 'before' : 'after'} ${step}`;

      it(`${where} costs no creation, and makes none twice`, async (t) => {
        const { database, proxy, userId } = await open(t);
        const { rule, seen } = once(matches, verdict);
        proxy.rule(rule);
        const { outcome } = await database.run(createConversation, newConversation(userId, 'c'));
        assert.ok(seen());
        assert.match(outcome, /^(created|existing)$/);
        const rows = await inspect(
          storage,
          `select c.id, e.id as event from conversations c join event_log e on e.conversation_key = c.key
            where c.user_id = ${userId}`,
        );
        assert.deepEqual(
          rows.map((row) => [row['id'], Number(row['event'])]),
          [['c', 0]],
        );
      });

      it(`${where} leaves a write that cannot be repeated done once, not done, or told to be unknown`, async (t) => {
        const proxied = await open(t);
        const { rule, seen } = once(matches, verdict);
        proxied.proxy.rule(rule);
        const outcome = await writeSettings(proxied);
        assert.ok(seen());
        const isCommit = step.endsWith('COMMIT');
        // What was delivered before the cut can be carried out a moment later.
        if (isCommit && outcome === 'outcome_unknown' && !(step === 'COMMIT' && verdict === 'cut'))
          await until('the commit is carried out', async () => (await storedWrites(proxied)) === 1);
        const stored = await storedWrites(proxied);
        if (!isCommit) assert.deepEqual([outcome, stored], ['stored', 1]);
        else if (step === 'COMMIT')
          assert.deepEqual([outcome, stored], ['outcome_unknown', verdict === 'cut' ? 0 : 1]);
        else assert.deepEqual([['stored', 'outcome_unknown'].includes(outcome), stored], [true, 1]);
      });
    }
});

describe('a PostgreSQL session', { timeout: 240_000 }, () => {
  it('may be terminated in the packet that greets the client, and the process goes on', async (t) => {
    const { proxy, database } = await open(t);
    const terminated = new Set<number>();
    proxy.rule(({ name, connection, pid }) => {
      if (name !== 'ReadyForQuery' || terminated.has(connection)) return 'pass';
      terminated.add(connection);
      void withPostgres(postgresUrl('postgres'), (client) =>
        client.query('select pg_terminate_backend($1)', [pid]),
      );
      return 'join';
    });
    await Promise.allSettled(Array.from({ length: 20 }, () => database.run(tryWrite, 1)));
    assert.ok(terminated.size > 0);
    proxy.release();
    await database.run(tryWrite, 1);
  });

  it('works where every byte comes in a packet of its own', async (t) => {
    const { proxy, database, userId } = await open(t);
    proxy.split(true);
    const created = await database.run(createConversation, newConversation(userId, 'c'));
    assert.equal(created.outcome, 'created');
  });
});

describe('a write whose deadline passes', { timeout: 240_000, concurrency: 4 }, () => {
  it('while the answer to a statement is on its way is not done, also when the answer comes', async (t) => {
    const proxied = await open(t);
    proxied.proxy.rule(once(({ name }) => name === 'DataRow', 'hold').rule);
    assert.equal(await writeSettings(proxied, 500), 'database_unavailable');
    proxied.proxy.release();
    assert.equal(await writeSettings(proxied), 'stored');
    assert.equal(await storedWrites(proxied), 1);
  });

  it('while COMMIT is on its way is refused by the clock of the database', async (t) => {
    const proxied = await open(t);
    const { rule, seen } = once(steps['COMMIT'] as (typeof steps)[string], 'hold');
    proxied.proxy.rule(rule);
    const endsAt = performance.now() + 1_000;
    const outcome = watch(writeSettings(proxied, 1_000));
    await until('COMMIT is sent', seen);
    await until('the deadline has passed', () => performance.now() > endsAt + 100);
    assert.equal(outcome.settled(), false);
    proxied.proxy.release();
    assert.equal(await outcome.promise, 'overloaded');
    assert.equal(await storedWrites(proxied), 0);
  });

  it('while the answer to COMMIT is on its way is told to be done, or to be unknown', async (t) => {
    const proxied = await open(t);
    const answer = steps['the answer to COMMIT'] as (typeof steps)[string];
    proxied.proxy.rule(once(answer, 'hold').rule);
    assert.equal(await writeSettings(proxied, 1_000), 'outcome_unknown');
    assert.equal(await storedWrites(proxied), 1);
  });

  it('while another transaction holds the row is not done when the row is free again', async (t) => {
    const proxied = await open(t);
    assert.equal(await writeSettings(proxied), 'stored');
    await withPostgres(proxied.storage.databaseUrl ?? '', async (holder) => {
      await holder.query('begin');
      await holder.query('select 1 from settings where user_id = $1 for update', [proxied.userId]);
      const late = proxied.database.run(storeSettings, settingsWrite(proxied.userId, 1), {
        deadline: performance.now() + 500,
      });
      await assert.rejects(late, { code: 'database_unavailable' });
      await holder.query('rollback');
    });
    assert.equal(await storedWrites(proxied), 1);
  });
});
