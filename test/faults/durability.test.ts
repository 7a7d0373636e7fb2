import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqlite } from '../../src/db/sqlite.ts';
import { turnOn } from '../support/faults.ts';
import { createSite } from '../support/process.ts';

const transactionsUrl = new URL('../../src/transactions.ts', import.meta.url).href;

describe('the connection that writes to SQLite', { timeout: 240_000 }, () => {
  it('flushes every commit to the disk, through a write-ahead log', async (t) => {
    const site = await createSite('sqlite', t);
    const database = await openSqlite({
      file: join(site.storage.dataDir, 'parley.db'),
      transactionsUrl,
      onFatal: (error) => {
        throw error;
      },
    });
    t.after(() => database.close());
    assert.equal(database.ready.synchronous, 2);
    assert.equal(database.ready.journalMode, 'wal');
  });

  for (const fault of ['weak-flush', 'no-log'] as const) {
    it(`is refused where it reads back another promise (${fault}), exit code 2`, async (t) => {
      const site = await createSite('sqlite', t);
      turnOn(site, fault);
      const { code, stdout, stderr } = await site.run(['serve'], { faults: true });
      assert.equal(code, 2, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, /^parley: SQLite cannot guarantee durable commits on this file system/);
      assert.match(stderr, fault === 'no-log' ? /journal delete/ : /synchronous 1/);
    });
  }
});

describe('a second service on the same SQLite folder', { timeout: 240_000 }, () => {
  it('is refused with exit code 2 while the first serves on, and starts once that is killed', async (t) => {
    const site = await createSite('sqlite', t);
    const first = await site.serve();
    const second = await site.run(['serve']);
    assert.equal(second.code, 2);
    assert.equal(second.stdout, '');
    assert.match(second.stderr, /^parley: Another Parley already serves [^\n]+ PARLEY_DATA_DIR\.\n$/);
    assert.ok(second.stderr.includes(site.storage.dataDir));
    const made = await first.ask('/api/conversations', { json: { conversation_id: 'mine' } });
    assert.equal(made.status, 200);

    first.send('SIGKILL');
    await first.ended();
    const next = await site.serve();
    const found = await next.ask('/api/conversations', { json: { conversation_id: 'mine' } });
    assert.equal(found.status, 200);
    assert.equal(found.body.conversation_id, 'mine');
  });
});
