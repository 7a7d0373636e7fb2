import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { RefusalError } from '../errors.ts';
import { ensureDataDir } from './open.ts';

describe('ensureDataDir', () => {
  it('creates the folder and its parents, only for their owner, and keeps an existing one', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-open-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const dataDir = join(folder, 'a/b');
    ensureDataDir(dataDir);
    ensureDataDir(dataDir);
    assert.equal(statSync(dataDir).mode & 0o777, 0o700);
    writeFileSync(join(folder, 'file'), '');
    for (const wrong of ['file', 'file/below'])
      assert.throws(() => ensureDataDir(join(folder, wrong)), RefusalError);
  });

  it('refuses a path where the system creates no folders', { skip: process.platform !== 'linux' }, () => {
    assert.throws(() => ensureDataDir('/proc/parley/data'), {
      name: 'RefusalError',
      message: /^The data folder \/proc\/parley\/data cannot be created: .*PARLEY_DATA_DIR\.$/,
    });
  });
});
