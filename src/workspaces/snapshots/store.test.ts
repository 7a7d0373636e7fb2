import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { someTime as at, newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import { until } from '../../../test/support/until.ts';
import { createFolderStore } from '../../blobs/folderStore.ts';
import { createConversation } from '../../conversations/create/store.ts';
import { deleteConversation, stopConversation } from '../../conversations/lifecycle/store.ts';
import { claimConversation } from '../../conversations/run/claimStore.ts';
import { releaseRun } from '../../conversations/run/store.ts';
import { stopReason } from '../../conversations/states.ts';
import type { DatabaseKind } from '../../db/transaction.ts';
import { ownerOf } from '../../encryption/store.ts';
import { openVault } from '../../encryption/vault.ts';
import { ensureUser } from '../../users/store.ts';
import { newBlobName } from './contents.ts';
import { discardSnapshot, findSnapshot, openSnapshot, publishSnapshot } from './store.ts';
import { createSnapshotSweep } from './sweep.ts';
import { listNeededBlobs } from './turnStore.ts';

const leaseMs = 60_000;
const dayMs = 24 * 60 * 60_000;
const hourMs = 60 * 60_000;
const { signal } = new AbortController();

async function setUp(kind: DatabaseKind, t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const userId = (await database.run(ensureUser, 'ada')).id;
  const vault = await openVault({ database, dataDir: database.dataDir, secretKeys: [randomBytes(32)] });
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = createFolderStore(folder);
  let runs = 0;

  async function claim(id: string) {
    const runId = `run-${++runs}`;
    const claimed = await database.run(claimConversation, { runId, owner: 'here', leaseMs, userRunsMax: 0 });
    assert.equal(claimed?.id, id);
    return { key: claimed?.key ?? 0, runId };
  }

  async function create(id: string) {
    await database.run(createConversation, newConversation(userId, id));
    return claim(id);
  }

  function open(run: { key: number; runId: string }) {
    const id = newBlobName();
    const sealed = vault.encrypt('key', ownerOf({ table: 'snapshots', userId, name: [id] }));
    return database.run(openSnapshot, { ...run, id, sealed });
  }

  /** A conversation with a snapshot that has a blob. */
  async function snapshotted(id: string) {
    const run = await create(id);
    const opened = await open(run);
    assert.equal(opened.outcome, 'open');
    const { row } = opened;
    await store.put(row.id, 'b1', Buffer.from('x'), signal);
    assert.ok(await database.run(publishSnapshot, { ...run, id: row.id, blob: 'b1', takenAt: 1, heard: 1 }));
    return { run, snapshotId: row.id };
  }

  const rethrow = (error: Error): void => {
    throw error;
  };
  const sweepFor = (days: number, { on = store, onBackgroundError = rethrow } = {}) => {
    const sweep = createSnapshotSweep({ database, store: on, days, everyMs: hourMs, onBackgroundError });
    t.after(() => sweep.close());
    return sweep.sweep;
  };
  return { database, userId, vault, store, create, claim, open, snapshotted, sweepFor };
}

for (const kind of databaseKinds)
  describe(`the record of snapshots on ${kind}`, () => {
    it('is the same for every run of a conversation', async (t) => {
      const { database, create, claim, open } = await setUp(kind, t);
      const run = await create('a');
      const opened = await open(run);
      assert.deepEqual(await open(run), opened);
      await database.run(releaseRun, { ...run, at });
      assert.deepEqual(await open(await claim('a')), opened);
    });

    it('is changed only by the run that owns the conversation', async (t) => {
      const { database, claim, open, snapshotted } = await setUp(kind, t);
      const { run: lost, snapshotId: id } = await snapshotted('a');
      await database.run(releaseRun, { ...lost, at });
      const run = await claim('a');
      const published = { id, takenAt: 2, heard: 2 };
      assert.equal(await database.run(publishSnapshot, { ...lost, ...published, blob: 'late' }), false);
      assert.deepEqual(await open(lost), { outcome: 'lost' });
      assert.equal((await database.run(findSnapshot, run.key))?.blob, 'b1');
      assert.equal(await database.run(publishSnapshot, { ...run, ...published, blob: 'b2' }), true);
      const { blob, taken_at: takenAt, heard } = (await database.run(findSnapshot, run.key)) ?? {};
      assert.deepEqual([blob, takenAt, heard], ['b2', 2, 2]);
    });

    it('keeps the files of the last 20 turns, and those that forks need', async (t) => {
      const { database, snapshotted } = await setUp(kind, t);
      const { run, snapshotId: id } = await snapshotted('a');
      const other = await snapshotted('b');
      await inspect(
        database,
        `update snapshots set source_id = '${id}', source_blob = 't1' where id = '${other.snapshotId}'`,
      );
      for (let heard = 1; heard <= 23; heard++) {
        const turn = { from: heard - 1, heard };
        const files = { id, blob: `t${heard}`, takenAt: heard, heard, turn };
        assert.equal(await database.run(publishSnapshot, { ...run, ...files }), true);
      }
      const kept = Array.from({ length: 20 }, (_, i) => `t${i + 4}`);
      assert.deepEqual((await database.run(listNeededBlobs, id)).toSorted(), [...kept, 't1'].toSorted());
      // Once the fork has a snapshot of its own, it needs no other one.
      const own = { id: other.snapshotId, blob: 'own', takenAt: 1, heard: 1 };
      assert.equal(await database.run(publishSnapshot, { ...other.run, ...own }), true);
      assert.deepEqual((await database.run(listNeededBlobs, id)).toSorted(), kept.toSorted());
    });

    it('is not removed before the fork that needs it has one of its own', async (t) => {
      const { database, userId, store, snapshotted, sweepFor } = await setUp(kind, t);
      const { snapshotId: id } = await snapshotted('a');
      const fork = await snapshotted('b');
      await inspect(
        database,
        `update snapshots set source_id = '${id}', source_blob = 'b1', blob = null where id = '${fork.snapshotId}'`,
      );
      await database.run(deleteConversation, { userId, id: 'a', at });
      const sweep = sweepFor(0);
      await sweep();
      assert.deepEqual(await store.list(id, 10, signal), ['b1']);
      const own = { id: fork.snapshotId, blob: 'own', takenAt: 1, heard: 1 };
      assert.equal(await database.run(publishSnapshot, { ...fork.run, ...own }), true);
      await sweep();
      assert.deepEqual(await store.list(id, 10, signal), []);
    });

    it('is not created with a key that is no longer the active one', async (t) => {
      const { database, create } = await setUp(kind, t);
      const run = await create('a');
      const stale = await database.run(openSnapshot, { ...run, id: 'f1', sealed: 'v1.0000000000000000.x' });
      assert.deepEqual(stale, { outcome: 'stale_seal' });
    });

    it('is removed with its blobs after the conversation was deleted, whenever the process ended', async (t) => {
      const { database, userId, store, snapshotted, sweepFor } = await setUp(kind, t);
      const { run, snapshotId } = await snapshotted('a');
      const other = await snapshotted('b');
      await database.run(deleteConversation, { userId, id: 'a', at });
      assert.equal(await database.run(findSnapshot, run.key), undefined);
      const late = { ...run, id: snapshotId, blob: 'late', takenAt: 2, heard: 2 };
      assert.equal(await database.run(publishSnapshot, late), false);
      const sweep = sweepFor(0);
      await sweep();
      assert.deepEqual(await store.list(snapshotId, 10, signal), []);
      // A run that did not notice writes once more.
      await store.put(snapshotId, 'b2', Buffer.from('x'), signal);
      await inspect(
        database,
        `update snapshots set removed_at = removed_at - ${hourMs} where removed_at is not null`,
      );
      await sweep();
      assert.deepEqual(await store.list(snapshotId, 10, signal), []);
      const rows = await inspect(database, 'select id from snapshots');
      assert.deepEqual(
        rows.map((row) => row['id']),
        [other.snapshotId],
      );
      assert.deepEqual(await store.list(other.snapshotId, 10, signal), ['b1']);
    });

    it('is swept soon after the start', async (t) => {
      const { database, userId, store, snapshotted } = await setUp(kind, t);
      const { snapshotId } = await snapshotted('a');
      await database.run(deleteConversation, { userId, id: 'a', at });
      const onBackgroundError = (error: Error) => assert.fail(error);
      const { close } = createSnapshotSweep({
        ...{ database, store, days: 0, everyMs: hourMs, firstMs: 1, onBackgroundError },
      });
      t.after(close);
      await until('it is gone', async () => (await store.list(snapshotId, 10, signal)).length === 0);
    });

    it('is discarded if its operator wants that, but not while the conversation runs', async (t) => {
      const { database, userId, store, snapshotted, sweepFor } = await setUp(kind, t);
      const { run, snapshotId } = await snapshotted('a');
      const discard = (id: string) => database.run(discardSnapshot, { userId, id, by: 'command-line' });
      assert.deepEqual([await discard('b'), await discard('a')], ['no_conversation', 'not_stopped']);
      await database.run(stopConversation, { userId, id: 'a', at, reason: stopReason('user'), events: [] });
      assert.equal(await discard('a'), 'not_stopped');
      await database.run(releaseRun, { ...run, at });
      assert.deepEqual([await discard('a'), await discard('a')], ['discarded', 'no_snapshot']);
      assert.equal(await database.run(findSnapshot, run.key), undefined);
      await sweepFor(0)();
      assert.deepEqual(await store.list(snapshotId, 10, signal), []);
    });

    it('does not keep others from being removed if it cannot be removed itself', async (t) => {
      const { database, userId, store, snapshotted, sweepFor } = await setUp(kind, t);
      const [stuck, other] = [await snapshotted('a'), await snapshotted('b')];
      for (const id of ['a', 'b']) await database.run(deleteConversation, { userId, id, at });
      const remove: typeof store.remove = async (folder, ...rest) => {
        if (folder === stuck.snapshotId) throw new Error('it is busy');
        return store.remove(folder, ...rest);
      };
      const errors: string[] = [];
      const onBackgroundError = ({ message }: Error) => void errors.push(message);
      await sweepFor(0, { on: { ...store, remove }, onBackgroundError })();
      assert.deepEqual(errors, [`the snapshot in ${stuck.snapshotId} cannot be removed: it is busy`]);
      assert.deepEqual(await store.list(other.snapshotId, 10, signal), []);
    });

    it('is removed if an older version has deleted the conversation', async (t) => {
      const { database, store, snapshotted, sweepFor } = await setUp(kind, t);
      const { snapshotId } = await snapshotted('a');
      await inspect(database, 'delete from conversations');
      await sweepFor(0)();
      assert.deepEqual(await store.list(snapshotId, 10, signal), []);
    });

    it('is removed when the conversation was stopped long ago, and not earlier', async (t) => {
      const { database, userId, store, snapshotted, sweepFor } = await setUp(kind, t);
      const old = await snapshotted('old');
      const young = await snapshotted('young');
      for (const [id, { run }] of [
        ['old', old],
        ['young', young],
      ] as const) {
        await database.run(stopConversation, { userId, id, at, reason: stopReason('user'), events: [] });
        await database.run(releaseRun, { ...run, at });
      }
      await inspect(
        database,
        `update conversations set updated_at = updated_at - ${31 * dayMs} where id = 'old'`,
      );
      await sweepFor(0)();
      assert.deepEqual(await store.list(old.snapshotId, 10, signal), ['b1']);
      await sweepFor(30)();
      assert.deepEqual(await store.list(old.snapshotId, 10, signal), []);
      assert.deepEqual(await store.list(young.snapshotId, 10, signal), ['b1']);
    });
  });
