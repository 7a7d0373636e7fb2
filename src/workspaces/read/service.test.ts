import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newConversation } from '../../../test/support/conversations.ts';
import { openTestDatabase } from '../../../test/support/databases.ts';
import { until } from '../../../test/support/until.ts';
import { makeFolder, openInspectionSandbox, putFiles } from '../../../test/support/workspace.ts';
import { createConversation } from '../../conversations/create/store.ts';
import { ensureUser } from '../../users/store.ts';
import { downloadGate, inspectionGate } from './bounds.ts';
import { createWorkspaces } from './service.ts';

describe('an archive whose sandbox cannot be closed', () => {
  it('releases its slot anyway', async (t) => {
    const database = await openTestDatabase('sqlite', t);
    const userId = (await database.run(ensureUser, 'ada')).id;
    const id = 'a'.repeat(32);
    await database.run(createConversation, newConversation(userId, id));
    const folder = makeFolder(t);
    putFiles(folder, { 'a.txt': 'a' });
    let failed = 0;
    const openWorkspace = async () => {
      const sandbox = await openInspectionSandbox(folder);
      const close = async () => {
        await sandbox.close();
        failed++;
        throw new Error('the folder of the socket cannot be removed');
      };
      return { ...sandbox, close };
    };
    const workspaces = createWorkspaces({ database, openWorkspace });
    const principal = { userId, userName: 'ada', keyId: 'k', via: 'session', scopes: new Set() } as never;
    const { signal } = new AbortController();
    for (let i = 1; i <= downloadGate.userAtOnceMax + 1; i++) {
      const archive = await workspaces.archive({ principal, id, signal });
      assert.ok((await archive.toArray()).length > 0);
      await until('its sandbox failed to close', () => failed === i);
    }
    await workspaces.close();
  });
});

describe('a snapshot that takes long to restore', () => {
  it('keeps nobody from reading other files, and is left when it was read', async (t) => {
    const database = await openTestDatabase('sqlite', t);
    const folder = makeFolder(t);
    putFiles(folder, { 'a.txt': 'a' });
    const { signal } = new AbortController();
    const askAs = async (userName: string) => {
      const userId = (await database.run(ensureUser, userName)).id;
      await database.run(createConversation, newConversation(userId, userName));
      const principal = { userId, userName, keyId: 'k', via: 'session', scopes: new Set() } as never;
      return { principal, id: userName, signal };
    };
    const { promise: restored, resolve } = Promise.withResolvers<void>();
    let left = 0;
    const workspaces = createWorkspaces({
      database,
      openWorkspace: () => openInspectionSandbox(folder),
      prepareSnapshot: async () => {
        await restored;
        return { open: () => openInspectionSandbox(folder), leave: () => left++ };
      },
    });
    const gone = { ...(await askAs('ada')), isNodeGone: true };
    const waiting = Array.from({ length: inspectionGate.atOnceMax }, () => workspaces.list(gone, ''));
    for (const user of ['bob', 'eve'])
      assert.deepEqual(await workspaces.list(await askAs(user), ''), ['a.txt']);
    assert.equal(left, 0);
    resolve();
    assert.deepEqual(await Promise.all(waiting), Array(waiting.length).fill(['a.txt']));
    assert.equal(left, waiting.length);
    await workspaces.close();
  });
});
