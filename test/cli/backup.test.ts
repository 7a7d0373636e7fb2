// `parley backup` and `parley restore` with the real program, from each database to each.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { migrations } from '../../src/db/migrate.ts';
import { writeBackup } from '../support/backupArchives.ts';
import { assertWithout } from '../support/canaries.ts';
import { databaseKinds } from '../support/databases.ts';
import { countRows, countStrays, inspect, storedConversations } from '../support/inspect.ts';
import { createSite, type Ended, type Service, type Site } from '../support/process.ts';
import { mainFile } from '../support/program.ts';
import { startReceiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';

const c = '/api/conversations';
const clients = 8;
const before = 60;
const replay = JSON.stringify(
  Array.from({ length: 40 }, (_, i) => ({ action: 'message', message: `event ${i}` })),
);

function good(ended: Ended): Ended {
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

async function stop(service: Service): Promise<void> {
  service.send('SIGTERM');
  assert.equal((await service.ended()).code, 0);
}

/** Creates conversations from many clients until it is told to stop. */
function startLoad(service: Service) {
  const acknowledged = new Set<string>();
  let isOver = false;
  async function loop(client: number): Promise<void> {
    for (let i = 0; !isOver; i++) {
      const json = {
        initial_user_msg: `message ${client} ${i}`,
        ...(i % 3 === 0 ? { replay_json: replay } : {}),
      };
      const { status, body, text } = await service.ask(c, { json });
      assert.equal(status, 200, text);
      acknowledged.add(body.conversation_id);
    }
  }
  const loops = Promise.all(Array.from({ length: clients }, (_, i) => loop(i)));
  return {
    acknowledged,
    end: async () => {
      isOver = true;
      await loops;
    },
  };
}

const canary = (name: string) => `CANARY-${name}-91be`;

async function plant(service: Service): Promise<void> {
  const answers = [
    await service.ask('/api/settings', {
      json: {
        llm_model: 'openai/gpt-5',
        llm_api_key: canary('llm'),
        mcp_config: { sse_servers: [{ url: 'https://a.example/sse', api_key: canary('sse') }] },
      },
    }),
    await service.ask('/api/secrets', { json: { name: 'ONE', value: canary('custom'), description: 'd' } }),
    await service.ask('/api/provider-keys/anthropic', {
      method: 'PUT',
      json: { api_key: canary('provider') },
    }),
    await service.ask('/api/add-git-providers', {
      json: { provider_tokens: { github: { token: canary('git') } } },
    }),
    await service.ask(c, {
      json: {
        conversation_id: 'with-secrets',
        initial_user_msg: 'über\u2028 "quoted" \\ 𝄞',
        mcp_config: { stdio_servers: [{ name: 'one', command: 'npx', env: { TOKEN: canary('env') } }] },
      },
    }),
  ];
  for (const { status, text } of answers) assert.ok(status < 300, text);
}

/** What users see. */
async function look(service: Service) {
  const get = async (path: string) => {
    const { status, body, text } = await service.ask(path);
    assert.equal(status, 200, text);
    return body;
  };
  const { title, created_at, trigger } = await get(`${c}/with-secrets`);
  return {
    settings: await get('/api/settings'),
    secrets: await get('/api/secrets'),
    providerKeys: await get('/api/provider-keys'),
    conversation: { title, created_at, trigger },
    events: (await get(`${c}/with-secrets/events?limit=2`)).events,
  };
}

async function createRestored(kind: Site['kind'], t: TestContext, file: string, ...flags: string[]) {
  const site = await createSite(kind, t);
  const { stdout } = good(await site.run(['restore', file, '--json', ...flags]));
  return { site, result: JSON.parse(stdout) };
}

const rowsOf = (site: Site, table: string) => inspect(site.storage, `select * from ${table}`);

for (const kind of databaseKinds) {
  describe(`parley backup on ${kind}`, { timeout: 240_000 }, () => {
    it('holds every conversation that was acknowledged before it began, and no half one, under concurrent writes', async (t) => {
      const site = await createSite(kind, t);
      const file = join(site.createDir(), 'backup');
      const service = await site.serve();
      const load = startLoad(service);
      await until('enough is acknowledged', () => load.acknowledged.size >= before);
      const known = new Set(load.acknowledged);
      good(await site.run(['backup', file]));
      await load.end();
      assert.ok(load.acknowledged.size > known.size, 'the service went on meanwhile');
      good(await site.run(['backup', '--verify', file]));
      for (const other of databaseKinds) {
        const { site: restored, result } = await createRestored(other, t, file);
        const stored = await storedConversations(restored.storage);
        const ids = new Set(stored.map(({ id }) => id));
        assert.ok(known.isSubsetOf(ids));
        assert.ok(ids.isSubsetOf(load.acknowledged));
        for (const { events, next_event, first, last } of stored)
          assert.deepEqual([first, last, events], [0, next_event - 1, next_event]);
        assert.equal(await countStrays(restored.storage), 0);
        assert.equal(result.stopped, stored.length, 'all of them waited for a worker');
        // New rows get numbers above those of the backup.
        assert.equal((await restored.run(['users', 'list'])).code, 0);
      }
    });

    it('restores what users see, with keys and a passphrase, from each database to each', async (t) => {
      const site = await createSite(kind, t);
      const service = await site.serve();
      await plant(service);
      const seen = await look(service);
      const passphrase = join(site.createDir(), 'passphrase');
      writeFileSync(passphrase, 'correct horse battery\n');
      const file = join(site.createDir(), 'backup');
      good(await site.run(['backup', file, '--keys', '--passphrase-file', passphrase]));
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assertWithout(['CANARY', 'parley-backup'], 'the encrypted file', readFileSync(file));
      await stop(service);
      const key = service.key;
      for (const other of databaseKinds) {
        const restored = await createSite(other, t);
        const refused = await restored.run(['restore', file]);
        assert.match(refused.stderr, /is encrypted/);
        const { stderr } = good(await restored.run(['restore', file, '--passphrase-file', passphrase]));
        const at = other === 'sqlite' ? '' : 'PostgreSQL at 127\\.0\\.0\\.1:\\d+/\\w+ and ';
        assert.match(stderr, new RegExp(`They are in ${at}${restored.storage.dataDir}\\.\n`));
        const again = await restored.serve();
        assert.equal(again.key, key, 'the owner key is restored');
        assert.deepEqual(await look(again), seen);
        const { body } = await again.ask(`${c}/with-secrets`);
        assert.equal(body.status, 'STOPPED');
        assert.match(body.stop_reason.message, /restored from a backup of 20.*Send a message/);
        const { status, text } = await again.ask(c, { json: { initial_user_msg: 'a new one' } });
        assert.equal(status, 200, text);
        await stop(again);
      }
    });

    it('has no secret in clear without the keys, and says which key it needs', async (t) => {
      const site = await createSite(kind, t);
      const service = await site.serve();
      await plant(service);
      const file = join(site.createDir(), 'backup');
      const { stderr } = good(await site.run(['backup', file]));
      assert.match(stderr, /The encryption key [0-9a-f]{16} is not in it/);
      const bytes = zstdDecompressSync(readFileSync(file));
      const key = readFileSync(join(site.storage.dataDir, 'secret.key'), 'utf8').trim();
      assertWithout(
        ['CANARY', service.key, key, Buffer.from(key, 'hex').toString('latin1')],
        'the backup',
        bytes.toString('latin1'),
      );
      const restored = await createSite(kind, t);
      const { stderr: note } = good(await restored.run(['restore', file]));
      assert.match(note, /The encryption key [0-9a-f]{16} is missing/);
      const { stderr: refusal } = await restored.begin().ended();
      assert.match(refusal, /The encryption key is missing/);
      good(await site.run(['backup', file, '--overwrite', '--keys']));
      assert.ok(zstdDecompressSync(readFileSync(file)).includes(key), 'with --keys it is there');
    });

    it('is not restored over data, nor under a running service, unless told', async (t) => {
      const site = await createSite(kind, t);
      const file = join(site.createDir(), 'backup');
      const service = await site.serve();
      await service.ask(c, { json: { conversation_id: 'first' } });
      good(await site.run(['backup', file]));
      const exists = await site.run(['backup', file]);
      assert.equal(exists.code, 2);
      assert.match(exists.stderr, /exists already/);
      await service.ask(c, { json: { conversation_id: 'second' } });
      const running = await site.run(['restore', '--replace', file]);
      assert.equal(running.code, 2);
      assert.match(
        running.stderr,
        kind === 'sqlite' ? /already serves the data folder/ : /A service uses this database/,
      );
      await stop(service);
      const there = await site.run(['restore', file]);
      assert.equal(there.code, 2);
      assert.match(there.stderr, /already has/);
      assert.equal(await countRows(site.storage, 'conversations'), 2);
      good(await site.run(['restore', '--replace', file]));
      assert.equal(await countRows(site.storage, 'conversations'), 1);
      const aside = readdirSync(site.storage.dataDir).filter((name) => name.startsWith('replaced-'));
      assert.equal(aside.length, 1, 'the file of SQLite, or the id of the machine');
      await stop(await site.serve());
    });

    it('changes nothing if the restored files cannot be written to disk', async (t) => {
      const site = await createSite(kind, t);
      const file = writeBackup(join(site.createDir(), 'backup'), {});
      const programs = site.createDir();
      writeFileSync(join(programs, 'sync'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
      const PATH = `${programs}:${process.env['PATH']}`;
      const failed = await site.run(['restore', file], { env: { PATH } });
      assert.equal(failed.code, 2);
      assert.match(failed.stderr, /could not be written to disk\. Check the disk/);
      good(await site.run(['restore', file]));
    });

    it('is migrated if it is older than this version', async (t) => {
      const site = await createSite(kind, t);
      const file = writeBackup(join(site.createDir(), 'backup'), {
        head: { migrations: migrations.slice(0, 12).map(({ name }) => name) },
      });
      good(await site.run(['restore', file]));
      assert.equal(await countRows(site.storage, 'migrations'), migrations.length);
      const service = await site.serve();
      assert.deepEqual(
        (await rowsOf(site, 'users')).map(({ id, name }) => [Number(id), name]),
        [[1, 'owner']],
      );
      await stop(service);
    });

    it('sends pending webhook deliveries again with the same ids, or holds them', async (t) => {
      const site = await createSite(kind, t);
      const receiver = await startReceiver(t);
      receiver.answer(() => 503);
      const service = await site.serve();
      await service.ask('/api/webhooks', { json: { url: receiver.url, events: ['conversation.status'] } });
      await service.ask(c, { json: { conversation_id: 'one' } });
      await until('it was sent once', () => receiver.received.length > 0);
      const [{ id: delivery } = { id: '' }] = receiver.received;
      const file = join(site.createDir(), 'backup');
      good(await site.run(['backup', file, '--keys']));
      await stop(service);
      const { site: held, result } = await createRestored(kind, t, file, '--hold-deliveries');
      assert.ok(result.held >= 2, 'that one, and the one of the stop');
      assert.deepEqual(
        new Set((await rowsOf(held, 'deliveries')).map(({ state }) => state)),
        new Set(['failed']),
      );
      const { site: sent } = await createRestored(kind, t, file);
      await inspect(sent.storage, 'update deliveries set next_at = 0');
      receiver.answer(() => 204);
      const sentBefore = receiver.received.length;
      const again = await sent.serve();
      await until('it is sent again', () =>
        receiver.received.slice(sentBefore).some(({ id }) => id === delivery),
      );
      await stop(again);
    });
  });
}

describe('parley backup', { timeout: 240_000 }, () => {
  it('that is killed leaves no file, and the next one removes what it left', async (t) => {
    const site = await createSite('sqlite', t);
    await stop(await site.serve());
    const workspace = join(site.storage.dataDir, 'conversations/1/workspace');
    mkdirSync(workspace, { recursive: true });
    // Reading so many zeros takes long enough for a kill.
    writeFileSync(join(workspace, 'hole'), '');
    truncateSync(join(workspace, 'hole'), 19e9);
    const folder = site.createDir();
    const file = join(folder, 'backup');
    const program = site.spawn(process.execPath, [mainFile, 'backup', file], site.environment());
    await until('it writes', () => readdirSync(folder).some((name) => name.endsWith('.partial')));
    program.send('SIGKILL');
    assert.equal((await program.ended()).signal, 'SIGKILL');
    const [left = '', ...more] = readdirSync(folder);
    assert.match(left, new RegExp(`^backup\\.${program.pid}-[0-9a-f]{12}\\.partial$`));
    assert.deepEqual(more, []);
    rmSync(join(workspace, 'hole'));
    good(await site.run(['backup', file]));
    assert.deepEqual(readdirSync(folder), ['backup']);
  });

  it('ends without a file on SIGTERM', async (t) => {
    const site = await createSite('sqlite', t);
    await stop(await site.serve());
    const workspace = join(site.storage.dataDir, 'conversations/1/workspace');
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(workspace, 'hole'), '');
    truncateSync(join(workspace, 'hole'), 19e9);
    const folder = site.createDir();
    const program = site.spawn(
      process.execPath,
      [mainFile, 'backup', join(folder, 'backup')],
      site.environment(),
    );
    await until('it writes', () => readdirSync(folder).some((name) => name.endsWith('.partial')));
    program.send('SIGTERM');
    const { code, stderr } = await program.ended();
    assert.equal(code, 143, stderr);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('writes to standard output, in formats that other programs read', async (t) => {
    const site = await createSite('sqlite', t);
    await stop(await site.serve());
    const file = join(site.createDir(), 'backup');
    const command = `"${process.execPath}" "${mainFile}" backup - > "${file}"`;
    execFileSync('sh', ['-c', command], { env: site.environment(), stdio: 'pipe' });
    const listed = execFileSync('tar', ['--list', '--file=-'], {
      input: zstdDecompressSync(readFileSync(file)),
      encoding: 'utf8',
    });
    assert.match(listed, /^head\.json\n(.*\n)*database\/users\/000001\.jsonl\n(.*\n)*manifest\.json\n$/);
    good(await site.run(['backup', '--verify', file]));
  });

  it('leaves nothing in the temporary folder after a verification', async (t) => {
    const site = await createSite('sqlite', t);
    await stop(await site.serve());
    const file = join(site.createDir(), 'backup');
    good(await site.run(['backup', file]));
    const temporary = site.createDir();
    const env = { TMPDIR: temporary };
    good(await site.run(['backup', '--verify', file], { env }));
    writeFileSync(file, readFileSync(file).subarray(0, -20));
    const { code, stderr } = await site.run(['backup', '--verify', file], { env });
    assert.equal(code, 2, stderr);
    assert.deepEqual(readdirSync(temporary), []);
    assert.ok(existsSync(file));
  });
});
