import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { createCheckpoints } from './sqliteCheckpoints.ts';

const framesMany = 5_000;

describe('the checkpoint thread', () => {
  it('is not used again if it cannot open the file, and breaks nothing', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-checkpoints-'));
    const database = new DatabaseSync(join(folder, 'a.db'));
    t.after(() => {
      database.close();
      rmSync(folder, { recursive: true });
    });
    database.exec('pragma journal_mode = wal; pragma wal_autocheckpoint = 0; create table t (x)');
    database.prepare('insert into t values (zeroblob(?))').run(framesMany * 4_096);
    const asked: string[] = [];
    const { look, close } = createCheckpoints(join(folder, 'missing', 'a.db'), (text) => {
      asked.push(text);
      return database.prepare(text);
    });
    const ended = new Promise<void>((resolve) => {
      process.once('worker', (thread) => thread.once('exit', () => resolve()));
    });
    look();
    await ended;
    look();
    assert.deepEqual(asked, ['pragma wal_checkpoint(noop)']);
    await close();
  });
});
