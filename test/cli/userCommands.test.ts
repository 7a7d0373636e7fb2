// `parley users`, as a person runs it, on the local database and over HTTP.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { mainFile } from '../support/program.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

for (const way of ['the local database', 'HTTP'] as const)
  describe(`parley users over ${way}`, () => {
    let storage: TestStorage;
    let service: TestService;
    before(async () => {
      storage = await createStorage('sqlite');
      service = await startService({ storage });
    });
    after(async () => {
      await service.stop();
      await storage.remove();
    });

    /** The service is in this process, so that nothing may block it. */
    async function parley(...words: string[]) {
      const http = { PARLEY_URL: service.url, PARLEY_KEY: service.key };
      const env = {
        PATH: process.env['PATH'],
        PARLEY_DATA_DIR: storage.dataDir,
        ...(way === 'HTTP' ? http : {}),
      };
      const child = spawn(process.execPath, [mainFile, 'users', ...words], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [stdout, stderr, [status]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      return { status, stdout, stderr };
    }

    const states = async () =>
      (await parley('list', '--json')).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map(({ name, state }) => `${name} ${state}`);

    it('creates, renames, disables, enables, removes and restores a user', async () => {
      const created = await parley('create', 'ada');
      assert.deepEqual([created.status, created.stdout], [0, 'Created: ada\n'], created.stderr);
      assert.equal(/second user/.test(created.stderr), way !== 'HTTP');
      const { key } = (await service.ask('/api/keys', { json: { name: 'k', user: 'ada' } })).body;
      assert.equal((await parley('rename', 'ada', 'lovelace')).status, 0);
      const statusBecomes = (status: number) =>
        until(`status ${status}`, async () => (await service.ask('/api/me', { key })).status === status);
      assert.equal((await parley('disable', 'lovelace')).status, 0);
      await statusBecomes(401);
      assert.equal((await parley('enable', 'lovelace')).status, 0);
      await statusBecomes(200);
      const removed = await parley('remove', 'lovelace', '--yes');
      assert.match(removed.stdout, /^Removed, can be restored until .*: lovelace\n$/);
      assert.deepEqual(await states(), ['lovelace removed', 'owner active']);
      await statusBecomes(401);
      assert.equal((await parley('restore', 'lovelace')).status, 0);
      await statusBecomes(200);
    });

    it('removes nobody without a terminal and --yes, and says what is refused', async () => {
      const unconfirmed = await parley('remove', 'lovelace');
      assert.deepEqual([unconfirmed.status, /--yes/.test(unconfirmed.stderr)], [2, true]);
      assert.deepEqual(await states(), ['lovelace active', 'owner active']);
      const refused: [string[], RegExp][] = [
        [['disable', 'owner'], /last user who can administer/],
        [['remove', 'owner', '--yes'], /owner can be neither renamed nor removed/],
        [['create', 'owner'], /already exists/],
        [['create', 'a b'], /must/],
        [['rename', 'lovelace', 'owner'], /already exists/],
        [['disable', 'nobody'], /does not exist/],
      ];
      for (const [words, message] of refused) {
        const { status, stderr } = await parley(...words);
        assert.notEqual(status, 0, words.join(' '));
        assert.match(stderr, message, words.join(' '));
      }
    });
  });

describe('parley users and keys, beside no service', () => {
  async function parley(dataDir: string, words: readonly string[], more: Record<string, string> = {}) {
    const env = { PATH: process.env['PATH'], PARLEY_DATA_DIR: dataDir, ...more };
    const child = spawn(process.execPath, [mainFile, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stderr] = await Promise.all([text(child.stderr), text(child.stdout), once(child, 'close')]);
    return stderr;
  }

  for (const words of [
    ['users', 'create', 'ada'],
    ['keys', 'create', '--user', 'ada', '--name', 'k'],
  ])
    it(`say that they create a database, because the service may use another one: ${words[0]}`, async (t) => {
      const { dataDir, remove } = await createStorage('sqlite');
      t.after(remove);
      assert.match(await parley(dataDir, words), /There is no database in .*PARLEY_DATA_DIR/);
      assert.doesNotMatch(await parley(dataDir, ['users', 'create', 'bob']), /no database/);
    });

  it('say that private addresses are off from the second user on, only if that is so', async (t) => {
    const cases: [env: Record<string, string>, isSaid: boolean][] = [
      [{}, true],
      [{ PARLEY_PUBLIC_URL: 'https://parley.example.com' }, false],
      [{ PARLEY_ALLOW_PRIVATE_ADDRESSES: '10.0.0.5:8000' }, false],
    ];
    for (const [env, isSaid] of cases)
      for (const second of [
        ['users', 'create', 'ada'],
        ['keys', 'create', '--user', 'ada', '--name', 'k'],
      ]) {
        const { dataDir, remove } = await createStorage('sqlite');
        t.after(remove);
        await parley(dataDir, ['keys', 'create', '--name', 'of-the-owner']);
        const note = await parley(dataDir, second, env);
        assert.equal(/second user/.test(note), isSaid, note);
      }
  });
});
