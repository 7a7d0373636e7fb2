import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { someTime as at, newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { countRows, countStrays, inspect } from '../../../test/support/inspect.ts';
import type { Database, DatabaseKind } from '../../db/transaction.ts';
import { ownerOf } from '../../encryption/store.ts';
import { openVault } from '../../encryption/vault.ts';
import { readEvents } from '../../events/store.ts';
import type { Principal } from '../../keys/principal.ts';
import { ensureUser } from '../../users/store.ts';
import { createConversation } from '../create/store.ts';
import { deleteConversation } from '../lifecycle/store.ts';
import { findConversation } from '../list/store.ts';
import { copyEvents } from './copyStore.ts';
import type { ForkConversation } from './schema.ts';
import { createForks } from './service.ts';

const said = '{"source":"user","action":"message","args":{"content":"hello"}}';
const step = '{"source":"agent","action":"run","args":{"command":"curl -H <hidden>"}}';
const noLimits = { take: () => undefined, giveBack: () => {} };
const noFiles: ForkConversation = { files: 'none' };

async function setUp(kind: DatabaseKind, t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const { id: userId } = await database.run(ensureUser, 'ada');
  const vault = await openVault({ database, dataDir: database.dataDir, secretKeys: [randomBytes(32)] });
  const principal = { userId, keyId: 'k1', via: 'session' } as unknown as Principal;
  let ids = 0;
  const forksOn = (on: Database, waitingMax = 0) => {
    const forks = createForks({
      database: on,
      vault,
      limits: noLimits,
      waitingMax,
      choices: { agentId: (name: string) => name, findFault: async () => undefined } as never,
      findSnapshotFault: async (_, blob) => (blob === 'broken' ? 'the blob is missing' : undefined),
      nextId: () => `fork-${++ids}`,
      onBackgroundError: (error) => {
        throw error;
      },
    });
    t.after(() => forks.close());
    return forks;
  };
  const forks = forksOn(database);
  const create = async (id: string, more: Parameters<typeof newConversation>[2] = {}) => {
    const created = await database.run(createConversation, newConversation(userId, id, more));
    assert.equal(created.outcome, 'created');
    return 'key' in created ? created.key : 0;
  };
  const fork = (id: string, body: ForkConversation = {}, idempotencyKey?: string) =>
    forks.fork(principal, id, body, { idempotencyKey });
  const logOf = async (id: string) => {
    const row = await database.run(findConversation, { userId, id });
    const range = { from: 0, below: 100_000, newestFirst: false, max: 10_000, bytesMax: 1e8 };
    return database.run(readEvents, { conversation: row?.key ?? 0, ...range });
  };
  /** A snapshot with the files after turns, as [given_from, heard, blob]. */
  const snapshot = async (key: number, turns: readonly (readonly [number, number, string])[]) => {
    const last = turns.at(-1)?.[2];
    await inspect(
      database,
      `insert into snapshots (id, conversation_key, user_id, conversation_id, sealed, blob, taken_at, heard, created_at)
       values ('s${key}', ${key}, ${userId}, 'a', 'x', '${last}', 5, 1, 1)`,
    );
    for (const [from, heard, blob] of turns)
      await inspect(
        database,
        `insert into snapshot_turns (snapshot_id, heard, given_from, blob, taken_at)
         values ('s${key}', ${heard}, ${from}, '${blob}', 5)`,
      );
  };
  const heldBy = async (id: string) => {
    const [row] = await inspect(
      database,
      `select source_id, source_blob from snapshots where conversation_id = '${id}' and removed_at is null`,
    );
    return [row?.['source_id'], row?.['source_blob']];
  };
  return { database, userId, vault, principal, forksOn, create, fork, logOf, snapshot, heldBy };
}

const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

for (const kind of databaseKinds)
  describe(`forks on ${kind}`, () => {
    it('have the log up to the event as it is, and what was chosen', async (t) => {
      const { database, userId, create, fork, logOf } = await setUp(kind, t);
      await create('a', {
        events: [said, step, step],
        repository: 'acme/shop',
        branch: 'dev',
        llmModel: 'm',
      });
      const { conversation_id: id, conversation_status: status } = await fork('a', {
        ...noFiles,
        event_id: 1,
      });
      assert.equal(status, 'STOPPED');
      const [source, copied] = [await logOf('a'), await logOf(id)];
      assert.deepEqual(copied.slice(0, 2), source.slice(0, 2));
      assert.deepEqual(
        copied.slice(2).map(({ json }) => JSON.parse(json).observation),
        ['notice', 'agent_state_changed'],
      );
      const row = await database.run(findConversation, { userId, id });
      assert.deepEqual(
        [row?.repository, row?.branch, row?.llm_model, row?.title],
        ['acme/shop', 'dev', 'm', 'a (fork)'],
      );
      assert.deepEqual([row?.forked_from, row?.forked_event, row?.stop_code], ['a', 1, 'forked']);
      assert.deepEqual([row?.said, row?.heard, row?.next_event], [4, 4, 4]);
      const audited = await inspect(database, "select subject from audit where action = 'conversation.fork'");
      assert.deepEqual(
        audited.map(({ subject }) => subject),
        [`${id} from a`],
      );
      assert.equal(await countRows(database, 'imports'), 0);
    });

    it('wait for a worker with their message, within the limit of their user', async (t) => {
      const { database, userId, principal, create, forksOn, logOf } = await setUp(kind, t);
      await create('a', { events: [said, step] });
      const forks = forksOn(database, 2);
      const { conversation_id: id } = await forks.fork(principal, 'a', { ...noFiles, message: 'go on' });
      const row = await database.run(findConversation, { userId, id });
      assert.deepEqual([row?.status, row?.heard, row?.said], ['STARTING', 3, 4]);
      assert.equal(JSON.parse((await logOf(id))[3]?.json ?? '').args.content, 'go on');
      await assert.rejects(
        forks.fork(principal, 'a', { ...noFiles, message: 'x' }),
        code('too_many_waiting'),
      );
      assert.equal(await countStrays(database), 0);
    });

    it('copy a long log in several transactions', async (t) => {
      const { create, fork, logOf } = await setUp(kind, t);
      await create('a', { events: [said, ...Array.from({ length: 2_500 }, () => step)] });
      const { conversation_id: id } = await fork('a', noFiles);
      assert.deepEqual((await logOf(id)).slice(0, 2_501), await logOf('a'));
    });

    it('are one if the same key is sent twice, also at the same time', async (t) => {
      const { database, create, fork } = await setUp(kind, t);
      await create('a', { events: [said] });
      const [one, two] = await Promise.all([fork('a', noFiles, 'key'), fork('a', noFiles, 'key')]);
      assert.equal(one.conversation_id, two.conversation_id);
      assert.deepEqual(await fork('a', noFiles, 'key'), one);
      await assert.rejects(fork('a', { ...noFiles, event_id: 0 }, 'key'), code('idempotency_key_reused'));
      assert.equal(await countRows(database, 'conversations'), 2);
      assert.equal(await countRows(database, 'imports'), 0);
      assert.equal(await countStrays(database), 0);
    });

    it('are not created if the conversation is deleted meanwhile', async (t) => {
      const { database, userId, principal, create, forksOn } = await setUp(kind, t);
      await create('a', { events: [said, ...Array.from({ length: 1_500 }, () => step)] });
      let batches = 0;
      const run: Database['run'] = async (transaction, input, options) => {
        if (transaction.name === copyEvents.name && ++batches === 2)
          await database.run(deleteConversation, { userId, id: 'a', at });
        return database.run(transaction, input, options);
      };
      const forks = forksOn({ ...database, run });
      await assert.rejects(forks.fork(principal, 'a', noFiles), code('not_found'));
      assert.equal(await countRows(database, 'conversations'), 0);
      assert.equal(await countRows(database, 'events'), 0);
      assert.equal(await countRows(database, 'imports'), 0);
    });

    it('are refused for conversations of others, and for events that do not exist', async (t) => {
      const { database, principal, create, fork, forksOn } = await setUp(kind, t);
      await create('a', { events: [said] });
      const { id: userId } = await database.run(ensureUser, 'eve');
      await assert.rejects(forksOn(database).fork({ ...principal, userId }, 'a', noFiles), code('not_found'));
      await assert.rejects(fork('a', { ...noFiles, event_id: 1 }), /event_id must be/);
      const limited = { ...principal, conversationId: 'a' };
      await assert.rejects(forksOn(database).fork(limited, 'a', noFiles), code('forbidden'));
    });

    it('have secrets of their own, encrypted for them', async (t) => {
      const { database, userId, vault, create, fork } = await setUp(kind, t);
      const owner = (id: string) => ownerOf({ table: 'conversations', userId, name: [id] });
      await create('a', { events: [said], sealed: vault.encrypt('the secret', owner('a')) });
      const { conversation_id: id } = await fork('a', noFiles);
      const [row] = await inspect(database, `select sealed from conversations where id = '${id}'`);
      assert.equal(await vault.decrypt(String(row?.['sealed']), owner(id)), 'the secret');
    });

    it('hold the files of the turn that the event belongs to', async (t) => {
      const { create, fork, snapshot, heldBy } = await setUp(kind, t);
      const key = await create('a', { events: [said, step, said, step, said, step], said: 5 });
      // There is no snapshot of the second turn.
      await snapshot(key, [
        [0, 1, 'first'],
        [3, 5, 'third'],
      ]);
      const held = async (body: ForkConversation) => heldBy((await fork('a', body)).conversation_id);
      assert.deepEqual(await held({ event_id: 1 }), [`s${key}`, 'first']);
      assert.deepEqual(await held({ event_id: 5 }), [`s${key}`, 'third']);
      assert.deepEqual(await held({}), [`s${key}`, 'third']);
      assert.deepEqual(await held({ event_id: 1, files: 'latest' }), [`s${key}`, 'third']);
      await assert.rejects(fork('a', { event_id: 3 }), code('no_snapshot'));
      const { conversation_id: id } = await fork('a', { event_id: 1 });
      assert.deepEqual(await heldBy((await fork(id)).conversation_id), [`s${key}`, 'first']);
    });

    it('are refused if there is no snapshot, or it is damaged', async (t) => {
      const { create, fork, snapshot } = await setUp(kind, t);
      const key = await create('a', { events: [said, step], said: 1 });
      await assert.rejects(fork('a'), code('no_snapshot'));
      await snapshot(key, [[0, 1, 'broken']]);
      await assert.rejects(fork('a'), code('snapshot_unusable'));
    });
  });
