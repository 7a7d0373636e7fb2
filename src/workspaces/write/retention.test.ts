import assert from 'node:assert/strict';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countRows, inspect } from '../../../test/support/inspect.ts';
import { startService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { stagedUploads, uploadFiles } from '../../../test/support/uploads.ts';

for (const kind of databaseKinds) {
  describe(`uploads that wait, on ${kind}`, () => {
    it('are removed with their conversation, or if it stopped long ago, and kept otherwise', async (t) => {
      const env = { PARLEY_WORKSPACE_DAYS: '30' };
      const service = await startService({ kind, env, times: { worker: { retentionMs: 20 } } }, t);
      const create = async () => {
        const { body } = await service.ask('/api/conversations', { json: {} });
        const before = new Set(stagedUploads(service));
        await uploadFiles(service, body.conversation_id, [['a.txt', 'one']]);
        const upload = stagedUploads(service).find((name) => !before.has(name)) ?? '';
        return { id: body.conversation_id as string, upload };
      };
      const [deleted, stopped, kept] = [await create(), await create(), await create()];
      await service.ask(`/api/conversations/${deleted.id}`, { method: 'DELETE' });
      const old = Date.now() - 31 * 24 * 60 * 60_000;
      await inspect(
        service.storage,
        `update conversations set status = 'STOPPED', updated_at = ${old} where id = '${stopped.id}'`,
      );
      for (const upload of stagedUploads(service))
        utimesSync(join(service.storage.dataDir, 'uploads', upload), 1, 1);
      await until('both are removed', async () => stagedUploads(service).join() === kept.upload);
      assert.equal(await countRows(service.storage, 'uploads'), 1);
    });
  });
}
