import assert from 'node:assert/strict';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { someTime as at, newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import { createConversation } from '../../conversations/create/store.ts';
import {
  deleteConversation,
  startConversation,
  stopConversation,
} from '../../conversations/lifecycle/store.ts';
import { claimConversation } from '../../conversations/run/claimStore.ts';
import { stopReason } from '../../conversations/states.ts';
import type { DatabaseKind } from '../../db/transaction.ts';
import { ensureUser } from '../../users/store.ts';
import { createFolders } from './folders.ts';
import { createRetention, type KeptWorkspaces } from './retention.ts';
import { finishRemoval, holdForRemoval } from './store.ts';
import { volumesAsWorkspaces } from './volumes.ts';

const days = 30;
const dayMs = 24 * 60 * 60_000;
const leaseMs = 60_000;

async function setUp(kind: DatabaseKind, t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const userId = (await database.run(ensureUser, 'ada')).id;
  const folders = createFolders(database.dataDir);
  const errors: Error[] = [];
  let count = 0;
  const create = (keptDays: number, kept: KeptWorkspaces = folders) => {
    const retention = createRetention({
      database,
      folders: kept,
      days: keptDays,
      everyMs: 60 * 60_000,
      owner: 'here',
      nextId: () => `removal-${++count}`,
      onBackgroundError: (error) => errors.push(error),
    });
    t.after(() => retention.close());
    return retention;
  };

  /** A stopped conversation with a workspace, untouched for so long. */
  async function stopped(id: string, untouchedDays: number) {
    await database.run(createConversation, newConversation(userId, id));
    const name = { userId, id, at };
    await database.run(stopConversation, { ...name, reason: stopReason('user'), events: [] });
    const [row] = await inspect(database, `select key, updated_at from conversations where id = '${id}'`);
    const key = Number(row?.['key']);
    const since = Number(row?.['updated_at']) - untouchedDays * dayMs;
    await inspect(database, `update conversations set updated_at = ${since} where key = ${key}`);
    const paths = await folders.open(key, name);
    writeFileSync(join(paths.workspace, 'file'), '');
    return { key, name, paths };
  }

  /** What the log says of removals. */
  async function told(key: number): Promise<string[]> {
    const rows = await inspect(
      database,
      `select json from event_log where conversation_key = ${key} order by id`,
    );
    return rows
      .map(({ json }) => JSON.parse(String(json)))
      .filter(({ observation }) => observation === 'workspace_removed')
      .map(({ message }) => message);
  }

  const claim = () =>
    database.run(claimConversation, { runId: 'run', owner: 'here', leaseMs, userRunsMax: 0 });
  const hold = (key: number) =>
    database.run(holdForRemoval, { key, runId: 'removal', owner: 'here', leaseMs, stoppedMs: days * dayMs });
  return { database, folders, create, stopped, told, claim, hold, errors, retention: create(days) };
}

for (const kind of databaseKinds) {
  describe(`the retention of workspaces on ${kind}`, () => {
    it('removes workspaces that were stopped long ago, reports it once, and keeps the rest', async (t) => {
      const { retention, stopped, told, folders, errors } = await setUp(kind, t);
      const old = await stopped('old', 31);
      const young = await stopped('young', 29);
      await retention.removeUnused();
      await retention.removeUnused();
      assert.ok(!existsSync(old.paths.root));
      assert.ok(existsSync(join(young.paths.workspace, 'file')));
      assert.deepEqual(await folders.listSetAside(), []);
      const [message = '', ...more] = await told(old.key);
      assert.match(message, /^The workspace was removed, because .* stopped for 30 days\. /);
      assert.deepEqual(more, []);
      assert.deepEqual(await told(young.key), []);
      assert.deepEqual(errors, []);
    });

    it('releases the conversation for the next start', async (t) => {
      const { database, retention, stopped, claim } = await setUp(kind, t);
      const { name } = await stopped('old', 31);
      await retention.removeUnused();
      await database.run(startConversation, { ...name, message: [], waking: [], waitingMax: 0 });
      assert.equal((await claim())?.id, 'old');
    });

    it('removes what belongs to a deleted conversation', async (t) => {
      const { database, retention, stopped } = await setUp(kind, t);
      const { name, paths } = await stopped('gone', 0);
      await database.run(deleteConversation, name);
      await retention.removeUnused();
      assert.ok(!existsSync(paths.root));
    });

    it('keeps all others for ever with 0 days', async (t) => {
      const { create, stopped } = await setUp(kind, t);
      const { paths } = await stopped('old', 10_000);
      await create(0).removeUnused();
      assert.ok(existsSync(paths.workspace));
    });

    it('ignores a started conversation, whether a run has claimed it or not', async (t) => {
      const { database, retention, stopped, claim, hold } = await setUp(kind, t);
      const { key, name, paths } = await stopped('old', 31);
      await database.run(startConversation, { ...name, message: [], waking: [], waitingMax: 0 });
      await inspect(database, 'update conversations set updated_at = 0');
      assert.equal(await hold(key), false);
      assert.equal((await claim())?.id, 'old');
      assert.equal(await hold(key), false);
      await retention.removeUnused();
      assert.ok(existsSync(join(paths.workspace, 'file')));
    });

    it('lets no run start while it removes, and the run then finds it in the log', async (t) => {
      const { database, stopped, claim, hold, told } = await setUp(kind, t);
      const { key, name } = await stopped('old', 31);
      assert.equal(await hold(key), true);
      await database.run(startConversation, { ...name, message: [], waking: [], waitingMax: 0 });
      assert.equal(await claim(), undefined);
      const event = '{"observation":"workspace_removed","message":"gone"}';
      assert.equal(await database.run(finishRemoval, { key, runId: 'removal', event }), true);
      assert.equal((await claim())?.id, 'old');
      assert.deepEqual(await told(key), ['gone']);
    });

    it('finishes what a dead process has begun, and reports it once', async (t) => {
      const { retention, stopped, told, folders } = await setUp(kind, t);
      const { key, name, paths } = await stopped('old', 31);
      await folders.setAside(key);
      await retention.removeUnused();
      assert.deepEqual(await folders.listSetAside(), []);
      assert.equal((await told(key)).length, 1);
      // It died later, after it had told.
      await folders.open(key, name);
      renameSync(paths.root, join(paths.root, `../removed-${key}`));
      await retention.removeUnused();
      assert.deepEqual(await folders.listSetAside(), []);
      assert.equal((await told(key)).length, 1);
    });

    it('treats volumes like folders', async (t) => {
      const { database, create, stopped, told, errors } = await setUp(kind, t);
      const [old, young, gone] = [
        await stopped('old', 31),
        await stopped('young', 29),
        await stopped('gone', 0),
      ];
      await database.run(deleteConversation, gone.name);
      await inspect(database, "update conversations set workspace_volume = 'here 1'");
      const left = new Set([old.key, young.key, gone.key]);
      const volumes = { list: async () => [...left], remove: async (key: number) => left.delete(key) };
      const retention = create(
        days,
        volumesAsWorkspaces(async () => volumes),
      );
      await retention.removeUnused();
      await retention.removeUnused();
      assert.deepEqual([...left], [young.key]);
      assert.equal((await told(old.key)).length, 1);
      const rows = await inspect(database, 'select workspace_volume from conversations order by key');
      assert.deepEqual(
        rows.map((row) => row['workspace_volume']),
        [null, 'here 1'],
      );
      assert.deepEqual(errors, []);
    });

    it('lets no run use a volume whose removal has failed, because it may still happen', async (t) => {
      const { database, create, stopped, claim, errors } = await setUp(kind, t);
      const { key, name } = await stopped('old', 31);
      const remove = () => Promise.reject(new Error('no answer'));
      const volumes = { list: async () => [key], remove };
      await create(
        days,
        volumesAsWorkspaces(async () => volumes),
      ).removeUnused();
      assert.deepEqual(errors.map(String), ['Error: no answer']);
      await database.run(startConversation, { ...name, message: [], waking: [], waitingMax: 0 });
      assert.equal(await claim(), undefined);
    });

    it('removes nothing while the cluster cannot be used', async (t) => {
      const { create, stopped, told, errors } = await setUp(kind, t);
      const { key } = await stopped('old', 31);
      await create(
        days,
        volumesAsWorkspaces(async () => undefined),
      ).removeUnused();
      assert.deepEqual(await told(key), []);
      assert.deepEqual(errors, []);
    });

    it('reports nothing if the conversation has new folders', async (t) => {
      const { retention, stopped, told, folders } = await setUp(kind, t);
      const { key, paths } = await stopped('back', 1);
      mkdirSync(join(paths.root, `../removed-${key}`));
      await retention.removeUnused();
      assert.deepEqual(await folders.listSetAside(), []);
      assert.deepEqual(await told(key), []);
      assert.ok(existsSync(join(paths.workspace, 'file')));
    });
  });
}
