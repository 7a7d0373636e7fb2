// Backups that were damaged, or made to do harm. None of them changes anything.
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  compress,
  type HandMade,
  memberBytes,
  tarOf,
  writeBackup,
} from '../../test/support/backupArchives.ts';
import { readConfig } from '../config.ts';
import { migrations } from '../db/migrate.ts';
import { RefusalError } from '../errors.ts';
import { restoreBackup } from './restore.ts';
import { tarHeader } from './tar.ts';
import { verifyBackup } from './verify.ts';

interface Place {
  readonly file: string;
  readonly dataDir: string;
  readonly outside: string;
}

function createPlace(t: { after(fn: () => void): void }): Place {
  const top = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(() => rmSync(top, { recursive: true, force: true }));
  const [dataDir, outside] = [join(top, 'data'), join(top, 'outside')];
  mkdirSync(dataDir);
  mkdirSync(outside);
  return { file: join(top, 'backup'), dataDir, outside };
}

function restore({ file, dataDir }: Place, replace = false) {
  const places = readConfig({ PARLEY_DATA_DIR: dataDir });
  return restoreBackup({ places, file, passphrase: undefined, replace, holdDeliveries: false });
}

/** What is left in the data folder: nothing but the lock. */
const left = ({ dataDir }: Place) => readdirSync(dataDir).filter((name) => name !== 'service.lock');

const member = (path: string, more = {}) => ({ members: [{ path, ...more }] });
const newer = [...migrations.map(({ name }) => name), '9999-unknown'];

const cases: Readonly<Record<string, readonly [made: HandMade, why: RegExp]>> = {
  'a path that goes up': [member('conversations/1/../../../outside/x'), /not allowed/],
  'a path that goes up at its end': [member('conversations/..'), /not allowed/],
  'an absolute path': [member('/etc/x'), /not allowed/],
  'an absolute path below a part': [member('conversations//etc/x'), /not allowed/],
  'a path with a NUL': [member(`conversations/a\0b/${'x'.repeat(120)}`), /not allowed/],
  'a part that there is not': [member('programs/x'), /not allowed/],
  'a name that is not one of the key files': [member('keys/parley.db'), /not allowed/],
  'another file of the data folder': [member('data/service.url'), /not allowed/],
  'two entries with the same path': [
    { members: [{ path: 'conversations/1/a' }, { path: 'conversations/1/a' }] },
    /same path/,
  ],
  'a file below a file': [
    { members: [{ path: 'conversations/1/a' }, { path: 'conversations/1/a/b' }] },
    /not a folder/,
  ],
  'a table that is not announced': [{ head: { tables: [] } }, /does not announce/],
  'a table with a name that is none': [
    { head: { tables: [{ name: 'x"; drop table users; --', columns: [{ name: 'a', type: 'text' }] }] } },
    /head.json is wrong/,
  ],
  'a row with too many columns': [{ users: ['[1,"a",0,0]\n'] }, /wrong number of columns/],
  'a row with a wrong type': [{ users: ['["x","a",0]\n'] }, /wrong value for id/],
  'a row that is no JSON': [{ users: ['[1,"a"\n'] }, /not JSON/],
  'a row without an end': [{ users: ['[1,"a",0]'] }, /not those that were stored/],
  'fewer rows than were stored': [
    { manifest: { tables: { users: { rows: 2, sha256: '0'.repeat(64) } } } },
    /not those that were stored/,
  ],
  'other rows than were stored': [
    { manifest: { tables: { users: { rows: 1, sha256: '0'.repeat(64) } } } },
    /not those that were stored/,
  ],
  'files that are not announced': [{ ...member('conversations/1/a'), manifest: { files: {} } }, /not those/],
  'something after its end': [
    { trailing: [memberBytes({ path: 'conversations/1/b' })] },
    /follows its manifest/,
  ],
  'migrations that this version does not know': [{ head: { migrations: newer } }, /newer version of Parley/],
  'another head than was stored': [
    { manifest: { head_sha256: '0'.repeat(64) } },
    /head is not the one that was stored/,
  ],
  'a newer format': [{ head: { version: 2 as 1 } }, /newer version of Parley/],
};

describe('a hostile backup', () => {
  for (const [name, [made, why]] of Object.entries(cases))
    it(`with ${name} is refused, and changes nothing`, async (t) => {
      const place = createPlace(t);
      writeBackup(place.file, made);
      await assert.rejects(restore(place), (error: Error) => {
        assert.ok(error instanceof RefusalError, String(error.stack));
        assert.match(error.message, why);
        return true;
      });
      assert.deepEqual(left(place), []);
      assert.deepEqual(readdirSync(place.outside), []);
    });

  it('cannot write through a link that it brings', async (t) => {
    const place = createPlace(t);
    const members = [
      { path: 'conversations/1/out', kind: 'link', target: place.outside },
      { path: 'conversations/1/out/x', content: 'x' },
    ] as const;
    writeBackup(place.file, { members });
    await assert.rejects(restore(place), /not a folder/);
    assert.deepEqual(readdirSync(place.outside), []);
    writeBackup(place.file, { members: [{ ...members[0], path: 'conversations/1' }, members[1]] });
    await assert.rejects(restore(place), /not a folder/);
    assert.deepEqual(left(place), []);
  });

  it('cannot replace a link by a file, which would write to its target', async (t) => {
    const place = createPlace(t);
    writeFileSync(join(place.outside, 'kept'), 'kept');
    const members = [
      { path: 'conversations/1/a', kind: 'link', target: join(place.outside, 'kept') },
      { path: 'conversations/1/a', content: 'changed' },
    ] as const;
    writeBackup(place.file, { members });
    await assert.rejects(restore(place), /same path/);
    assert.equal(readFileSync(join(place.outside, 'kept'), 'utf8'), 'kept');
  });

  it('that announces more than the disk has room for is refused before anything is written', async (t) => {
    const place = createPlace(t);
    const claims = tarHeader({
      ...{ path: 'conversations/1/a', kind: 'file', mode: 0o600, modifiedS: 0 },
      bytes: 9e14,
    });
    const good = tarOf({});
    const head = good.subarray(0, good.indexOf('database/users'));
    writeFileSync(place.file, compress(Buffer.concat([head, claims])));
    await assert.rejects(restore(place), /not enough for this backup/);
    assert.deepEqual(left(place), []);
  });

  it('that is cut off anywhere, or in which a byte differs, is refused', async (t) => {
    const place = createPlace(t);
    const good = compress(tarOf(member('conversations/1/a', { content: 'content' })));
    for (let share = 0; share < 1; share += 0.02) {
      writeFileSync(place.file, good.subarray(0, Math.floor(share * good.length)));
      await assert.rejects(restore(place), RefusalError);
      const changed = Buffer.from(good);
      const at = Math.floor(share * good.length);
      changed[at] = (changed[at] ?? 0) ^ 0x55;
      writeFileSync(place.file, changed);
      await assert.rejects(verifyBackup(place.file, undefined), RefusalError, `byte ${at}`);
    }
    assert.deepEqual(left(place), []);
  });

  it('is told from a good one', async (t) => {
    const place = createPlace(t);
    writeBackup(place.file, member('conversations/1/a', { content: 'content' }));
    await verifyBackup(place.file, undefined);
    await restore(place);
    assert.equal(readFileSync(join(place.dataDir, 'conversations/1/a'), 'utf8'), 'content');
    assert.ok(existsSync(join(place.dataDir, 'parley.db')));
  });
});
