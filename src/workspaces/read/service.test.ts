import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newConversation } from '../../../test/support/conversations.ts';
import { openTestDatabase } from '../../../test/support/databases.ts';
import { until } from '../../../test/support/until.ts';
import { makeFolder, openInspectionSandbox, putFiles } from '../../../test/support/workspace.ts';
import { createConversation } from '../../conversations/create/store.ts';
import { ensureUser } from '../../users/store.ts';
import { downloadGate } from './bounds.ts';
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
