// Scheduled backups of real services.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { verifyBackup } from '../../src/backups/verify.ts';
import { RefusalError } from '../../src/errors.ts';
import { createStorage, databaseKinds } from '../support/databases.ts';
import { inspect } from '../support/inspect.ts';
import { createSite } from '../support/process.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const hourMs = 3_600_000;
const quick = { lookMs: 50, everyMs: hourMs };

const folders: string[] = [];
// Services use them until the end of their test.
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function createDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  folders.push(folder);
  return folder;
}

const count = (service: TestService, message: string) =>
  service.logs().split(`"msg":"${message}"`).length - 1;
const untilLogged = (service: TestService, message: string, times = 1) =>
  until(message, () => count(service, message) >= times);

async function sampleOf(service: TestService, name: string): Promise<number | undefined> {
  const { text } = await service.ask('/metrics');
  const [, value] = new RegExp(`^${name} (.*)$`, 'm').exec(text) ?? [];
  return value === undefined ? undefined : Number(value);
}

for (const kind of databaseKinds)
  describe(`scheduled backups on ${kind}`, { timeout: 300_000 }, () => {
    it('are made, can be verified, and their age is a metric', async (t) => {
      const folder = join(createDir(), 'made/by/the/service');
      const passphrase = join(createDir(), 'passphrase');
      writeFileSync(passphrase, 'correct horse battery\n');
      const env = {
        PARLEY_BACKUP_DIR: folder,
        PARLEY_BACKUP_KEYS: '1',
        PARLEY_BACKUP_PASSPHRASE_FILE: passphrase,
      };
      const service = await startService({ kind, env, times: { backups: quick } }, t);
      await untilLogged(service, 'backup complete');
      const [file = '', ...more] = readdirSync(folder);
      assert.match(file, /^parley-\d{8}T\d{6}Z\.tar\.zst\.age$/);
      assert.deepEqual(more, []);
      const { head, manifest } = await verifyBackup(join(folder, file), 'correct horse battery');
      assert.ok(head.keys && head.workspaces);
      assert.equal(manifest.tables['users']?.rows, 1);
      assert.equal(await sampleOf(service, 'parley_backups_total\\{outcome="done"\\}'), 1);
      assert.ok((await until('the age', async () => sampleOf(service, 'parley_backup_age_seconds'))) >= 0);
    });
  });

describe('scheduled backups', { timeout: 300_000 }, () => {
  it('are made by one process of a cluster', async (t) => {
    const storage = await createStorage('postgres');
    const folder = createDir();
    const start = async (dataDir: string) =>
      startService(
        {
          storage: { ...storage, dataDir },
          env: {
            PARLEY_BACKUP_DIR: folder,
            PARLEY_SECRET_KEY: '22'.repeat(32),
            SESSION_API_KEY: 'the-same-key-everywhere',
          },
          times: { backups: { lookMs: 20, everyMs: hourMs } },
        },
        t,
      );
    const services = await Promise.all([createDir(), createDir(), createDir()].map(start));
    // Hooks run in the order of registration, and the services must be closed first.
    t.after(() => storage.remove());
    const total = (message: string) => services.reduce((sum, service) => sum + count(service, message), 0);
    await until('one is made', () => total('backup complete') > 0);
    // The others have looked since.
    for (const service of services) await service.ask('/api/settings');
    assert.deepEqual([total('backup started'), total('backup complete')], [1, 1]);
    assert.equal(readdirSync(folder).length, 1);
  });

  it('are kept as many as the operator wants, and files of others stay', async (t) => {
    const folder = createDir();
    writeFileSync(join(folder, 'parley-notes.txt'), '');
    for (const day of ['01', '02', '03'])
      writeFileSync(join(folder, `parley-202001${day}T000000Z.tar.zst`), 'an old one');
    const env = { PARLEY_BACKUP_DIR: folder, PARLEY_BACKUP_KEEP: '2' };
    const service = await startService({ env, times: { backups: quick } }, t);
    await untilLogged(service, 'backup complete');
    const [newest = '', ...rest] = readdirSync(folder).sort().reverse().slice(1);
    assert.match(newest, /^parley-20(?!20)/);
    assert.deepEqual(rest, ['parley-20200103T000000Z.tar.zst']);
  });

  it('that fail are logged and counted, keep the older ones, leave nothing behind, and are tried again', async (t) => {
    const folder = createDir();
    const passphrase = join(createDir(), 'passphrase');
    writeFileSync(passphrase, 'correct horse battery\n');
    const env = { PARLEY_BACKUP_DIR: folder, PARLEY_BACKUP_PASSPHRASE_FILE: passphrase };
    const times = { backups: { lookMs: 20, everyMs: 1_000, retryMs: 50 } };
    const service = await startService({ env, times }, t);
    await untilLogged(service, 'backup complete');
    const made = readdirSync(folder);
    writeFileSync(passphrase, 'short\n');
    await untilLogged(service, 'backup failed; the older ones are kept', 2);
    assert.match(service.logs(), /"reason":"The passphrase must have at least 8 characters\."/);
    assert.ok(new Set(made).isSubsetOf(new Set(readdirSync(folder))));
    assert.ok(!readdirSync(folder).some((name) => name.endsWith('.partial')));
    assert.ok(((await sampleOf(service, 'parley_backups_total\\{outcome="failed"\\}')) ?? 0) >= 2);
    writeFileSync(passphrase, 'correct horse battery\n');
    await untilLogged(service, 'backup complete', 2);
  });

  it('with keys need a passphrase', async (t) => {
    const env = { PARLEY_BACKUP_DIR: createDir(), PARLEY_BACKUP_KEYS: '1' };
    await assert.rejects(startService({ env, times: { backups: quick } }, t), (error: Error) => {
      assert.ok(error instanceof RefusalError);
      assert.match(error.message, /need a passphrase.* set PARLEY_BACKUP_PASSPHRASE_FILE/);
      return true;
    });
  });

  it('that a kill interrupts are made again, and what they left is removed', async (t) => {
    const site = await createSite('sqlite', t);
    const folder = site.createDir();
    const workspace = join(site.storage.dataDir, 'conversations/1/workspace');
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(workspace, 'hole'), '');
    truncateSync(join(workspace, 'hole'), 19e9);
    const env = { PARLEY_BACKUP_DIR: folder };
    const partial = () => readdirSync(folder).some((name) => name.endsWith('.partial'));
    const killed = await site.serve({ env });
    await until('it writes', partial);
    killed.send('SIGKILL');
    await killed.ended();
    assert.ok(partial());
    // The claim of the killed process ends, as it would in five minutes.
    await inspect(site.storage, "delete from facts where name = 'backup-claim'");
    const stopped = await site.serve({ env });
    await until('it begins again', () =>
      readdirSync(folder).some((name) => name.includes(`.${stopped.pid}-`)),
    );
    assert.equal(readdirSync(folder).length, 1, 'the old one is gone');
    stopped.send('SIGTERM');
    assert.equal((await stopped.ended()).code, 0);
    assert.deepEqual(readdirSync(folder), [], 'a service that stops leaves nothing');
    rmSync(join(workspace, 'hole'));
    const last = await site.serve({ env });
    await until('it is complete', () => readdirSync(folder).some((name) => name.endsWith('.zst')));
    last.send('SIGTERM');
    assert.equal((await last.ended()).code, 0);
  });

  it('that could not be written prevent the start', async (t) => {
    const site = await createSite('sqlite', t);
    const { code, stderr } = await site.begin({ env: { PARLEY_BACKUP_DIR: '/proc/backups' } }).ended();
    assert.equal(code, 2);
    assert.match(stderr, /Backups cannot be written to \/proc\/backups \(PARLEY_BACKUP_DIR\)/);
  });
});
