import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createStorage, databaseKinds, type TestStorage } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { openConfiguredDatabase } from '../database.ts';
import type { Database } from '../db/transaction.ts';
import { keyIdOf } from './encrypt.ts';
import { rotate } from './rotation.ts';
import { openVault } from './vault.ts';

function fail(error: Error): void {
  throw error;
}

const mcp = (key: string) => ({ sse_servers: [{ url: 'https://a.example', api_key: key }] });

async function fill(service: TestService): Promise<void> {
  await service.ask('/api/settings', { json: { llm_api_key: 'model-key', mcp_config: mcp('settings-key') } });
  await service.ask('/api/secrets', { json: { name: 'DEPLOY', value: 'deploy-value' } });
  await service.ask('/api/add-git-providers', {
    json: { provider_tokens: { github: { token: 'git-token' } } },
  });
  await service.ask('/api/provider-keys/openai', { method: 'PUT', json: { api_key: 'provider-key' } });
  for (let i = 0; i < 110; i++)
    await service.ask('/api/conversations', {
      json: { conversation_id: `c${i}`, mcp_config: mcp(`key-${i}`) },
    });
  // Last, for nothing is to be sent.
  const hook = { url: 'https://bot.invalid/', events: ['conversation.status'] };
  await service.ask('/api/webhooks', { json: hook });
}

async function sealedTexts(storage: TestStorage): Promise<string[]> {
  const rows = await inspect(
    storage,
    `select sealed from secrets union all select sealed from conversations where sealed is not null
     union all select sealed from webhooks
     union all select value from facts where name = 'fingerprint-key'`,
  );
  return rows.map((row) => String(row['sealed']));
}

/** Keys that anything is encrypted with. */
async function keysInUse(storage: TestStorage): Promise<Set<string>> {
  return new Set((await sealedTexts(storage)).map(keyIdOf));
}

/** Opens what fill() stored, with whatever keys the folder holds now. */
async function openAll(storage: TestStorage): Promise<(string | undefined)[]> {
  const database = await openConfiguredDatabase(storage, fail);
  try {
    const vault = await openVault({ database, dataDir: storage.dataDir, secretKeys: [] });
    const open = async (table: string, where: string, owner: string[]) => {
      const [row] = await inspect(storage, `select sealed from ${table} where ${where}`);
      return vault.decrypt(String(row?.['sealed']), owner);
    };
    return [
      await open('secrets', "kind = 'llm_api_key'", ['secret', '1', 'llm_api_key', '']),
      await open('secrets', "name = 'DEPLOY'", ['secret', '1', 'custom', 'DEPLOY']),
      await open('secrets', "kind = 'provider_token'", ['secret', '1', 'provider_token', 'github']),
      await open('secrets', "kind = 'provider_key'", ['secret', '1', 'provider_key', 'openai']),
      await open('conversations', "id = 'c109'", ['conversation', '1', 'c109']),
    ];
  } finally {
    await database.close();
  }
}

const expected = [
  'model-key',
  'deploy-value',
  'git-token',
  'provider-key',
  JSON.stringify({ sse_servers: ['key-109'], stdio_servers: [], shttp_servers: [] }),
];

function keyFile(storage: TestStorage): string[] {
  return readFileSync(join(storage.dataDir, 'secret.key'), 'utf8').trim().split('\n');
}

for (const kind of databaseKinds) {
  describe(`rotation of the encryption key on ${kind}`, () => {
    async function prepared(t: { after(fn: () => Promise<void>): void }) {
      const storage = await createStorage(kind);
      const service = await startService({ storage });
      t.after(async () => {
        await service.stop();
        await storage.remove();
      });
      await fill(service);
      return { storage, service };
    }

    async function rotateBeside(
      storage: TestStorage,
      break_?: (database: Database) => Database,
    ): Promise<number> {
      const database = await openConfiguredDatabase(storage, fail);
      try {
        const options = {
          database: break_?.(database) ?? database,
          dataDir: storage.dataDir,
          secretKeys: [],
        };
        return (await rotate(options)).resealed;
      } finally {
        await database.close();
      }
    }

    it('encrypts everything again while the service runs, which then uses the new key', async (t) => {
      const { storage, service } = await prepared(t);
      const [oldKey] = await keysInUse(storage);
      assert.equal(await rotateBeside(storage), 117);
      const [newKey, ...others] = await keysInUse(storage);
      assert.deepEqual([others, newKey === oldKey, keyFile(storage).length], [[], false, 1]);
      assert.deepEqual(await openAll(storage), expected);

      assert.equal((await service.ask('/api/settings', { json: { search_api_key: 'later' } })).status, 200);
      const again = { json: { conversation_id: 'c5', mcp_config: mcp('key-5') } };
      assert.equal(
        (await service.ask('/api/conversations', again)).status,
        200,
        'fingerprints stay the same',
      );
      const created = { json: { conversation_id: 'later', mcp_config: mcp('x') } };
      assert.equal((await service.ask('/api/conversations', created)).status, 200);
      assert.deepEqual([...(await keysInUse(storage))], [newKey]);
    });

    it('can be interrupted anywhere and run again', async (t) => {
      const { storage, service } = await prepared(t);
      for (const failAt of [1, 2, 3]) {
        let writes = 0;
        const breaking = (database: Database): Database => ({
          ...database,
          run: (transaction, input) => {
            if (transaction.access === 'write' && ++writes === failAt)
              return Promise.reject(new Error('killed'));
            return database.run(transaction, input);
          },
        });
        await assert.rejects(rotateBeside(storage, breaking), /killed/);
        assert.equal(keyFile(storage).length, 2, 'both keys are kept');
        assert.deepEqual(await openAll(storage), expected);
        const name = `BETWEEN_${failAt}`;
        assert.equal((await service.ask('/api/secrets', { json: { name, value: 'v' } })).status, 201);
      }
      await rotateBeside(storage);
      assert.deepEqual([(await keysInUse(storage)).size, keyFile(storage).length], [1, 1]);
      assert.deepEqual(await openAll(storage), expected);
    });

    it('loses nothing that is written meanwhile', async (t) => {
      const { storage, service } = await prepared(t);
      let rotating = true;
      const written: string[] = [];
      const writer = (async () => {
        for (let i = 0; rotating; i++) {
          const made = await service.ask('/api/secrets', { json: { name: `W_${i}`, value: `value-${i}` } });
          assert.equal(made.status, 201, made.text);
          written.push(`W_${i}`);
        }
      })();
      for (let round = 0; round < 3; round++) await rotateBeside(storage);
      rotating = false;
      await writer;
      await rotateBeside(storage);
      const database = await openConfiguredDatabase(storage, fail);
      t.after(() => database.close());
      const vault = await openVault({ database, dataDir: storage.dataDir, secretKeys: [] });
      assert.ok(written.length > 0);
      for (const [i, name] of written.entries()) {
        const [row] = await inspect(storage, `select sealed from secrets where name = '${name}'`);
        assert.equal(
          await vault.decrypt(String(row?.['sealed']), ['secret', '1', 'custom', name]),
          `value-${i}`,
        );
      }
    });

    it('encrypts all others again if one conversation is damaged, and keeps both keys', async (t) => {
      const { storage } = await prepared(t);
      const [oldKey = ''] = await keysInUse(storage);
      await inspect(storage, `update conversations set sealed = 'v1.${oldKey}.AAAA' where id = 'c50'`);
      await assert.rejects(
        rotateBeside(storage),
        /^RefusalError: Neither key decrypts 1 of the stored values .*conversation 1 c50/,
      );
      const stale = (await sealedTexts(storage)).filter((text) => keyIdOf(text) === oldKey);
      assert.deepEqual([stale.length, keyFile(storage).length], [1, 2]);
      assert.deepEqual(await openAll(storage), expected);
    });

    it('refuses a concurrent rotation', async (t) => {
      const { storage } = await prepared(t);
      const both = await Promise.allSettled([rotateBeside(storage), rotateBeside(storage)]);
      const refused = both.filter((one) => one.status === 'rejected');
      assert.ok(refused.length <= 1);
      for (const { reason } of refused) assert.match(String(reason), /in progress/);
      assert.deepEqual([(await keysInUse(storage)).size, keyFile(storage).length], [1, 1]);
      assert.deepEqual(await openAll(storage), expected);
    });

    it('changes nothing if the keys do not fit this database', async (t) => {
      const { storage } = await prepared(t);
      const before = await sealedTexts(storage);
      const database = await openConfiguredDatabase(storage, fail);
      t.after(() => database.close());
      const wrong = { database, dataDir: storage.dataDir, secretKeys: [randomBytes(32), randomBytes(32)] };
      await assert.rejects(rotate(wrong), /nothing was changed/);
      assert.deepEqual(await sealedTexts(storage), before);
      assert.deepEqual(await openAll(storage), expected);
    });

    it('keeps both keys and says so if a text cannot be decrypted with either', async (t) => {
      const { storage } = await prepared(t);
      await inspect(storage, "update secrets set sealed = 'v1.0000000000000000.AAAA' where name = 'DEPLOY'");
      await assert.rejects(rotateBeside(storage), /secret 1 custom DEPLOY.*both keys are kept/);
      assert.equal(keyFile(storage).length, 2);
    });
  });
}

describe('an encryption key from the environment', () => {
  it('is rotated with NEW,OLD, after which NEW alone is enough and OLD alone is refused', async (t) => {
    const storage = await createStorage('sqlite');
    t.after(() => storage.remove());
    const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
    const hex = (...keys: Buffer[]) => keys.map((key) => key.toString('hex')).join(',');
    const first = await startService({ storage, env: { PARLEY_SECRET_KEY: hex(oldKey) } });
    await fill(first);
    await first.stop();
    const database = await openConfiguredDatabase(storage, fail);
    const options = { database, dataDir: storage.dataDir };
    await assert.rejects(rotate({ ...options, secretKeys: [oldKey] }), /NEW,OLD/);
    await rotate({ ...options, secretKeys: [newKey, oldKey] });
    await database.close();
    const second = await startService({ storage, env: { PARLEY_SECRET_KEY: hex(newKey) } });
    assert.equal((await second.ask('/api/settings')).body.llm_api_key_set, true);
    await second.stop();
    await assert.rejects(
      startService({ storage, env: { PARLEY_SECRET_KEY: hex(oldKey) } }),
      /encryption key is wrong/,
    );
  });

  it('that a process does not have yet makes its writes of secrets 503, and nothing else', async (t) => {
    const storage = await createStorage('sqlite');
    const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
    const service = await startService({ storage, env: { PARLEY_SECRET_KEY: oldKey.toString('hex') } });
    t.after(async () => {
      await service.stop();
      await storage.remove();
    });
    await service.ask('/api/settings', { json: { mcp_config: mcp('k') } });
    const database = await openConfiguredDatabase(storage, fail);
    await rotate({ database, dataDir: storage.dataDir, secretKeys: [newKey, oldKey] });
    await database.close();
    const refused = await service.ask('/api/secrets', { json: { name: 'A', value: 'v' } });
    assert.deepEqual([refused.status, refused.body.code], [503, 'sealing_key_missing']);
    assert.ok(refused.headers.get('retry-after'));
    const opened = await service.ask('/api/mcp/check', { json: {} });
    assert.deepEqual([opened.status, opened.body.code], [503, 'sealing_key_missing']);
    assert.equal((await service.ask('/api/settings', { json: { language: 'de' } })).status, 200);
    assert.equal((await service.ask('/api/conversations', { json: {} })).status, 200);
  });
});

describe('a tampered or moved encrypted text', () => {
  it('is never decrypted: the operation fails, is logged, and reveals nothing', async (t) => {
    const service = await startService({}, t);
    await service.ask('/api/secrets', { json: { name: 'ONE', value: 'value-one' } });
    await service.ask('/api/secrets', { json: { name: 'TWO', value: 'value-two' } });
    await inspect(
      service.storage,
      "update secrets set sealed = (select sealed from secrets where name = 'TWO') where name = 'ONE'",
    );
    const moved = await service.ask('/api/secrets/ONE', { method: 'PUT', json: { name: 'THREE' } });
    assert.deepEqual([moved.status, moved.body.code], [500, 'internal']);
    assert.ok(!moved.text.includes('value-') && !service.logs().includes('value-'));
    const names = (await service.ask('/api/secrets')).body.custom_secrets.map(
      (s: { name: string }) => s.name,
    );
    assert.deepEqual(names, ['ONE', 'TWO'], 'nothing was stored');
  });
});
