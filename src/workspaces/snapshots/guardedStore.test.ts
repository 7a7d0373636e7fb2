// A store that was replaced, or belongs to another service, is noticed before anything is changed there.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createStorage, databaseKinds } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import { temporaryFolder } from '../../../test/support/snapshots.ts';
import { createFolderStore } from '../../blobs/folderStore.ts';
import { openConfiguredDatabase } from '../../database.ts';
import type { DatabaseKind } from '../../db/transaction.ts';
import { guardStore, isUsable } from './guardedStore.ts';
import { markStore, WrongStoreError } from './marker.ts';

const { signal } = new AbortController();
const snapshotId = 'ab'.repeat(16);
const blob = 'cd'.repeat(16);
type After = Parameters<typeof temporaryFolder>[0];

/** A service with a store in a folder. Each `open` is a process of it. */
async function createService(t: After, kind: DatabaseKind) {
  const storage = await createStorage(kind);
  const database = await openConfiguredDatabase(storage, assert.ifError);
  t.after(async () => {
    await database.close();
    await storage.remove();
  });
  let now = 0;
  return {
    database,
    open: (folder: string) =>
      guardStore({ database, store: createFolderStore(folder), clock: { steady: () => now } }),
    pass: (ms: number) => {
      now += ms;
    },
    /** As if a run had stored a snapshot. */
    recordSnapshot: async () => {
      await inspect(storage, "insert into users (name, created_at) values ('ada', 0)");
      await inspect(
        storage,
        `insert into snapshots (id, conversation_key, user_id, conversation_id, sealed, blob, taken_at, heard, created_at)
         select '${snapshotId}', 1, id, 'c', 'v1.x.y', '${blob}', 1, 1, 0 from users`,
      );
    },
  };
}

/** The paths and contents of all files. */
function contentOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((e) => e.isFile());
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length + 1), readFileSync(path, 'latin1')];
    }),
  );
}

async function assertUntouched(
  { open }: Awaited<ReturnType<typeof createService>>,
  folder: string,
  why: RegExp,
) {
  const before = contentOf(folder);
  const guard = open(folder);
  const { store } = guard;
  const fails = (error: Error) => {
    assert.ok(error instanceof WrongStoreError);
    assert.match(error.message, why);
    assert.match(String(error.remedy), /PARLEY_SNAPSHOTS/);
    return true;
  };
  await assert.rejects(store.put(snapshotId, blob, Buffer.from('x'), signal), fails);
  await assert.rejects(store.get(snapshotId, blob, 100, signal), fails);
  await assert.rejects(store.list(snapshotId, 100, signal), fails);
  await assert.rejects(store.remove(snapshotId, [blob], signal), fails);
  assert.equal(await isUsable(guard), false);
  assert.deepEqual(contentOf(folder), before);
}

for (const kind of databaseKinds)
  describe(`the marker of a snapshot store, on ${kind}`, () => {
    it('is written to a new store, and all processes of the service know it', async (t) => {
      const service = await createService(t, kind);
      const folder = temporaryFolder(t);
      await service.open(folder).store.put(snapshotId, blob, Buffer.from('x'), signal);
      assert.deepEqual(Object.keys(contentOf(folder)).sort(), [`${snapshotId}/${blob}`, 'parley/service']);
      await service.recordSnapshot();
      const other = service.open(folder);
      assert.equal(await isUsable(other), true);
      assert.equal((await other.store.get(snapshotId, blob, 100, signal))?.toString(), 'x');
    });

    it('is missed in a store that is empty while the database has snapshots', async (t) => {
      const service = await createService(t, kind);
      await service.recordSnapshot();
      await assertUntouched(service, temporaryFolder(t), /snapshots of this service are not there/);
    });

    it('keeps one service from the store of another', async (t) => {
      const [service, other] = [await createService(t, kind), await createService(t, kind)];
      const folder = temporaryFolder(t);
      await service.open(folder).store.put(snapshotId, blob, Buffer.from('x'), signal);
      // It would have removed and written the same names.
      await other.recordSnapshot();
      await assertUntouched(other, folder, /belongs to another Parley service/);
      assert.equal(await isUsable(service.open(folder)), true);
    });

    it('is not accepted if it cannot be read', async (t) => {
      const service = await createService(t, kind);
      const folder = temporaryFolder(t);
      mkdirSync(join(folder, 'parley'));
      writeFileSync(join(folder, 'parley/service'), 'not JSON');
      await assertUntouched(service, folder, /belongs to another Parley service/);
    });

    it('is added to a store of an earlier version, which has the snapshots', async (t) => {
      const service = await createService(t, kind);
      const folder = temporaryFolder(t);
      await createFolderStore(folder).put(snapshotId, blob, Buffer.from('x'), signal);
      await service.recordSnapshot();
      assert.equal(await isUsable(service.open(folder)), true);
      assert.ok('parley/service' in contentOf(folder));
    });

    it('is looked at again, so that a store that is unmounted and mounted is noticed', async (t) => {
      const service = await createService(t, kind);
      const [folder, away] = [temporaryFolder(t), temporaryFolder(t)];
      const guard = service.open(folder);
      await guard.store.put(snapshotId, blob, Buffer.from('x'), signal);
      await service.recordSnapshot();
      cpSync(folder, away, { recursive: true });
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
      service.pass(6_000);
      assert.equal(await isUsable(guard), false);
      cpSync(away, folder, { recursive: true });
      service.pass(6_000);
      assert.equal(await isUsable(guard), true);
      // An operator who has accepted a store without the snapshots has written the marker.
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
      await markStore(service.database, createFolderStore(folder), signal);
      service.pass(6_000);
      assert.equal(await isUsable(guard), true);
    });
  });
