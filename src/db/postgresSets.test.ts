import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newConversation, someTime } from '../../test/support/conversations.ts';
import { openTestDatabase, withPostgres } from '../../test/support/databases.ts';
import { countRows, inspect } from '../../test/support/inspect.ts';
import { until } from '../../test/support/until.ts';
import { createConversation } from '../conversations/create/store.ts';
import { startConversation } from '../conversations/lifecycle/store.ts';
import { renewRun } from '../conversations/run/store.ts';
import { ensureUser } from '../users/store.ts';

type Test = Parameters<typeof openTestDatabase>[1];

async function open(t: Test) {
  const database = await openTestDatabase('postgres', t);
  const user = await database.run(ensureUser, 'ada');
  const create = (id: string, deadline?: number) =>
    database.run(
      createConversation,
      newConversation(user.id, id),
      deadline === undefined ? {} : { deadline },
    );
  const append = (id: string) =>
    database.run(startConversation, {
      ...{ userId: user.id, id, message: ['{"source":"user"}'] },
      ...{ waking: [], waitingMax: 0, at: someTime },
    });
  return { database, user, create, append };
}

/** Runs `work` while this statement holds its locks. */
async function whileLocked<Out>(
  { databaseUrl = '' }: { databaseUrl: string | undefined },
  statement: string,
  work: () => Promise<Out>,
): Promise<Out> {
  return withPostgres(databaseUrl, async (client) => {
    await client.query('begin');
    await client.query(statement);
    const out = await work();
    await client.query('rollback');
    return out;
  });
}

const ids = (count: number) => Array.from({ length: count }, (_, i) => `c${i}`);

describe('sets on PostgreSQL', () => {
  it('store many creations in few transactions', async (t) => {
    const { database, create } = await open(t);
    const outcomes = await Promise.all(ids(300).map((id) => create(id)));
    assert.ok(outcomes.every(({ outcome }) => outcome === 'created'));
    const [row] = await inspect(
      database,
      'select count(*) as changes, count(distinct transaction) as transactions from changes',
    );
    assert.equal(Number(row?.['changes']), 300);
    assert.ok(Number(row?.['transactions']) <= 5, `${row?.['transactions']} transactions`);
  });

  it('give ids without gaps to messages that meet in one conversation', async (t) => {
    const { database, create, append } = await open(t);
    await Promise.all(ids(4).map((id) => create(id)));
    const sent = Array.from({ length: 100 }, (_, i) => append(`c${i % 4}`));
    const outcomes = await Promise.all(sent);
    const given = outcomes.map((outcome) => (typeof outcome === 'object' ? outcome.eventId : -1));
    assert.deepEqual(
      given.toSorted((a, b) => a - b),
      Array.from({ length: 100 }, (_, i) => 1 + Math.floor(i / 4)),
    );
    const logs = await inspect(
      database,
      `select cast(count(*) as integer) as events, cast(max(id) as integer) as last from event_log
       group by conversation_key`,
    );
    assert.deepEqual(
      logs.map((log) => ({ ...log })),
      Array.from({ length: 4 }, () => ({ events: 26, last: 25 })),
    );
  });

  it('do not wait for a conversation that somebody else has locked', async (t) => {
    const { database, create, append } = await open(t);
    await Promise.all(ids(3).map((id) => create(id)));
    let isLockedOne = true;
    const locked = await whileLocked(
      database,
      "update conversations set title = 'x' where id = 'c0'",
      async () => {
        const waiting = append('c0').finally(() => {
          isLockedOne = false;
        });
        for (const outcome of await Promise.all([append('c1'), append('c2')]))
          assert.equal(typeof outcome === 'object' && outcome.eventId, 1);
        assert.ok(isLockedOne);
        return { waiting };
      },
    );
    const outcome = await locked.waiting;
    assert.equal(typeof outcome === 'object' && outcome.eventId, 1);
  });

  it('do not wait for a set that waits for a lock', async (t) => {
    const { database, create, append } = await open(t);
    await create('c0');
    const { blocked } = await whileLocked(
      database,
      'lock table changes in access exclusive mode',
      async () => {
        let isBlocked = true;
        const creation = create('blocked').finally(() => {
          isBlocked = false;
        });
        await until('a set waits', async () => {
          const waiting =
            "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%idempotency%'";
          return (await inspect(database, waiting)).length > 0;
        });
        const outcome = await append('c0');
        assert.equal(typeof outcome === 'object' && outcome.eventId, 1);
        assert.ok(isBlocked);
        return { blocked: creation };
      },
    );
    assert.equal((await blocked).outcome, 'created');
  });

  it('store nothing of a call whose deadline has passed, also after the database is free again', async (t) => {
    const { database, create } = await open(t);
    await whileLocked(database, 'lock table webhooks in access exclusive mode', async () => {
      const soon = performance.now() + 200;
      // The first sets wait for the lock, and the rest for the sets.
      const outcomes = await Promise.allSettled(ids(400).map((id) => create(id, soon)));
      const codes = new Set(
        outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : 'fulfilled')),
      );
      assert.deepEqual([...codes], ['overloaded']);
    });
    await create('after');
    assert.equal(await countRows(database, 'conversations'), 1);
  });

  it('reject calls once too many wait', async (t) => {
    const { database, create } = await open(t);
    const soon = performance.now() + 1_000;
    await whileLocked(database, 'lock table webhooks in access exclusive mode', async () => {
      const outcomes = ids(4_200).map((id) => create(id, soon).catch(({ code }) => code));
      assert.equal(await outcomes.at(-1), 'overloaded');
      await Promise.all(outcomes);
    });
  });

  it('renew only leases that are still held', async (t) => {
    const { database, create } = await open(t);
    const made = await Promise.all(ids(3).map((id) => create(id)));
    const keys = made.map((outcome) => (outcome.outcome === 'created' ? outcome.key : 0));
    await withPostgres(database.databaseUrl ?? '', (client) =>
      client.query("update conversations set run_id = id, wanted = case when id = 'c1' then 'stop' end"),
    );
    const renewed = await Promise.all(
      keys.map((key, i) =>
        database.run(renewRun, { key, runId: i === 2 ? 'lost' : `c${i}`, leaseMs: 60_000 }),
      ),
    );
    assert.deepEqual(renewed, ['kept', 'stop', 'lost']);
    const rows = await inspect(database, 'select id from conversations where lease_until > 0 order by id');
    assert.deepEqual(
      rows.map(({ id }) => id),
      ['c0', 'c1'],
    );
  });

  it('lose nothing if the connection of a set is terminated', async (t) => {
    const { database, create } = await open(t);
    await create('first');
    const created = await whileLocked(database, 'lock table webhooks in access exclusive mode', async () => {
      const outcomes = Promise.all(ids(50).map((id) => create(id)));
      const waiting =
        "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%webhooks%'";
      let pids: unknown[] = [];
      await until('a set waits', async () => {
        pids = (await inspect(database, waiting)).map(({ pid }) => pid);
        return pids.length > 0;
      });
      for (const pid of pids) await inspect(database, `select pg_terminate_backend(${pid})`);
      return { outcomes };
    });
    for (const { outcome } of await created.outcomes) assert.equal(outcome, 'created');
    assert.equal(await countRows(database, 'conversations'), 51);
    assert.equal(await countRows(database, 'changes'), 51);
  });
});
