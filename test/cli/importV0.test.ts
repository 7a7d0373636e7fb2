// `parley import v0` with the real program, on both databases.
import assert from 'node:assert/strict';
import { existsSync, linkSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createCommandLine } from '../support/commandLine.ts';
import { databaseKinds } from '../support/databases.ts';
import { countRows, countStrays, inspect, storedConversations } from '../support/inspect.ts';
import { createSite, type Site } from '../support/process.ts';
import { mainFile } from '../support/program.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import {
  fingerprintFolder,
  v0Message,
  v0Secrets,
  v0Settings,
  writeJson,
  writeV0Conversation,
} from '../support/v0FileStore.ts';

const canary = (name: string) => `CANARY-${name}-5c1f`;

function writeRecords(folder: string): void {
  writeJson(join(folder, 'settings.json'), v0Settings(canary));
  writeJson(join(folder, 'secrets.json'), v0Secrets(canary));
}

const pageEvents = 1_000;
const pageName = (page: number) => `${page * pageEvents}-${(page + 1) * pageEvents}.json`;

/** A long log in pages of the cache. All pages are one file, so that even a million events are written at once. */
function writeLong(folder: string, pages: number): void {
  writeV0Conversation(folder, 'long', { events: [] });
  const first = join(folder, 'event_cache', pageName(0));
  writeJson(
    first,
    Array.from({ length: pageEvents }, (_, i) => v0Message(i, `message ${i}`)),
  );
  for (let page = 1; page < pages; page++) linkSync(first, join(folder, 'event_cache', pageName(page)));
}

function shorten(folder: string, from: number, pages: number): void {
  for (let page = from; page < pages; page++) rmSync(join(folder, 'event_cache', pageName(page)));
}

/** So many pages take most of a minute to import: long enough to be interrupted on any machine. */
const longPages = 1_000;
const shortPages = 5;

/** The tables may not exist yet. */
async function rowsOrNone(site: Site, text: string) {
  return inspect(site.storage, text).catch(() => []);
}

async function importJson(site: Site, folder: string, ...more: string[]) {
  const { code, stdout, stderr } = await site.run(['import', 'v0', folder, '--json', ...more]);
  assert.ok(!`${stdout}${stderr}`.includes('CANARY'), 'no secret is printed');
  assert.match(stdout, /^\{.*\}\n$/, stderr);
  return { code, report: JSON.parse(stdout) };
}

for (const kind of databaseKinds) {
  describe(`parley import v0 on ${kind}`, () => {
    it('imports settings, secrets and conversations, which the service then shows', async (t) => {
      const site = await createSite(kind, t);
      const folder = site.createDir();
      writeRecords(folder);
      writeV0Conversation(
        join(folder, 'sessions/0123456789abcdef0123456789abcdef'),
        '0123456789abcdef0123456789abcdef',
      );
      const before = fingerprintFolder(folder);
      const { code, report } = await importJson(site, folder);
      assert.equal(code, 0);
      assert.equal(fingerprintFolder(folder), before, 'the source is unchanged');
      const [user] = report.users;
      assert.deepEqual(user.conversations, { found: 1, imported: 1, already_imported: 0, skipped: 0 });
      assert.deepEqual(user.events, { imported: 6, skipped: 0 });
      assert.deepEqual([user.provider_tokens, user.secrets], [['github', 'gitlab'], ['DEPLOY']]);
      assert.deepEqual(report.skipped, [
        { path: 'settings.json: condenser_max_size', reason: 'is not a setting of Parley' },
      ]);

      const service = await site.serve();
      assert.match(service.stdout(), /Owner key/, 'it is the first start');
      assert.doesNotMatch(service.stdout(), /Choose a model/);
      assert.equal((await startService({ kind }, t)).app.needsModel, true);
      const { body: settings } = await service.ask('/api/settings');
      assert.deepEqual(
        [settings.language, settings.max_iterations, settings.llm_api_key_set, settings.search_api_key_set],
        ['de', 77, true, true],
      );
      assert.deepEqual(settings.provider_tokens_set, { github: null, gitlab: 'git.example.com' });
      assert.deepEqual(settings.secrets_store.custom_secrets, { DEPLOY: { description: 'for deploys' } });
      assert.equal(settings.mcp_config.stdio_servers[0].env.TOKEN, '**********');

      const path = '/api/conversations/0123456789abcdef0123456789abcdef';
      const { body: info } = await service.ask(path);
      assert.equal(info.title, 'Title of 0123456789abcdef0123456789abcdef');
      assert.deepEqual([info.status, info.stop_reason.code], ['STOPPED', 'imported']);
      assert.deepEqual(
        [info.created_at, info.last_updated_at],
        ['2025-08-01T10:00:00.250Z', '2025-08-01T11:00:00.500Z'],
      );
      assert.deepEqual(
        [info.selected_repository, info.selected_branch, info.git_provider],
        ['acme/shop', 'main', 'github'],
      );
      assert.deepEqual(
        [
          info.usage.cost_usd,
          info.usage.input_tokens,
          info.usage.output_tokens,
          info.usage.cache_read_tokens,
        ],
        [0.25, 1200, 340, 7],
      );
      const { body: log } = await service.ask(`${path}/trajectory`);
      assert.deepEqual(
        log.trajectory.map(({ id }: { id: number }) => id),
        [0, 1, 2, 3, 4, 5],
      );
      const [, message, , run, result] = log.trajectory;
      assert.equal(message.args.content, 'Task of 0123456789abcdef0123456789abcdef');
      assert.equal(message.timestamp, '2025-08-01T10:00:01.123456Z');
      assert.deepEqual([run.tool_call_id, result.tool_call_id, result.cause], ['toolu_01', 'toolu_01', 3]);
      for (const table of ['settings', 'secrets', 'events', 'audit'])
        assert.ok(!JSON.stringify(await inspect(site.storage, `select * from ${table}`)).includes('CANARY'));
    });

    it('is repeated without effect: nothing is stored twice, and what was changed in Parley stays', async (t) => {
      const site = await createSite(kind, t);
      const folder = site.createDir();
      writeRecords(folder);
      for (const id of ['one', 'two', 'three']) writeV0Conversation(join(folder, `sessions/${id}`), id);
      await importJson(site, folder);
      const service = await site.serve();
      await service.ask('/api/settings', { method: 'PATCH', json: { language: 'fr' } });
      await service.ask('/api/conversations/one', { method: 'PATCH', json: { title: 'Renamed' } });
      await service.ask('/api/conversations/two', { method: 'DELETE' });
      const { code, report } = await importJson(site, folder);
      assert.equal(code, 0);
      assert.deepEqual(report.users[0].conversations, {
        found: 3,
        imported: 1,
        already_imported: 2,
        skipped: 0,
      });
      assert.deepEqual([report.users[0].settings, report.users[0].secrets], [[], []]);
      assert.equal((await service.ask('/api/settings')).body.language, 'fr');
      assert.equal((await service.ask('/api/conversations/one')).body.title, 'Renamed');
      assert.equal(await countRows(site.storage, 'conversations'), 3);
      assert.equal(await countRows(site.storage, 'events'), 18);
    });

    /** Starts an import and returns once it is in the middle of a conversation with a long log. */
    async function startLong(site: Site, folder: string) {
      writeLong(join(folder, 'sessions/long'), longPages);
      const words = [mainFile, 'import', 'v0', folder];
      const program = site.spawn(process.execPath, words, site.environment());
      const begun = () => rowsOrNone(site, 'select next_event from imports where next_event > 0');
      await until('the long conversation is in progress', async () => (await begun()).length > 0, 30_000);
      return { program, begun };
    }

    it('survives kill -9 in the middle of a long conversation, which the next import stores anew', async (t) => {
      const site = await createSite(kind, t);
      const folder = site.createDir();
      writeV0Conversation(join(folder, 'sessions/short'), 'short');
      const { program, begun } = await startLong(site, folder);
      program.send('SIGKILL');
      assert.equal((await program.ended()).signal, 'SIGKILL');
      assert.equal((await begun()).length, 1, 'it was killed before the end');
      const [hidden] = await inspect(
        site.storage,
        "select count(*) as n from conversations where id = 'long'",
      );
      assert.equal(Number(hidden?.['n']), 0, 'nobody sees a part of it');

      shorten(join(folder, 'sessions/long'), shortPages, longPages);
      const before = fingerprintFolder(folder);
      const { code, report } = await importJson(site, folder);
      assert.equal(code, 0);
      const { imported, already_imported: known } = report.users[0].conversations;
      assert.equal(imported + known, 2);
      const stored = await storedConversations(site.storage);
      assert.deepEqual(Object.fromEntries(stored.map(({ id, events, last }) => [id, [events, last]])), {
        short: [6, 5],
        long: [5_000, 4_999],
      });
      assert.equal(await countStrays(site.storage), 0);
      assert.equal(await countRows(site.storage, 'imports'), 0);
      assert.equal(fingerprintFolder(folder), before, 'the source is unchanged');
    });

    it('ends on SIGINT, prints the report so far, and can be continued', async (t) => {
      const site = await createSite(kind, t);
      const folder = site.createDir();
      const { program } = await startLong(site, folder);
      program.send('SIGINT');
      const { code, stdout, stderr } = await program.ended();
      assert.equal(code, 130, stderr);
      assert.match(stdout, /^Imported:\n {2}owner: 0 settings, .* 0 conversations, 0 events\.\n$/);
      assert.match(stderr, /Run the same command again to continue/);
      shorten(join(folder, 'sessions/long'), shortPages, longPages);
      const { report } = await importJson(site, folder);
      assert.deepEqual(report.users[0].events, { imported: 5_000, skipped: 0 });
      assert.equal(await countRows(site.storage, 'events'), 5_000);
    });

    it('gives folders of users to users of that name, while the service runs', async (t) => {
      const site = await createSite(kind, t);
      const service = await site.serve();
      const folder = site.createDir();
      writeRecords(join(folder, 'users/ada'));
      writeV0Conversation(join(folder, 'users/ada/conversations/hers'), 'hers');
      writeV0Conversation(join(folder, 'sessions/mine'), 'mine');
      const { stderr, stdout } = await site.run(['import', 'v0', folder]);
      assert.match(
        stdout,
        /owner: 0 settings, .*1 conversation, 6 events\.\n {2}ada: \d\d settings, 2 access tokens, 1 secret/,
      );
      assert.match(stderr, /Parley now has a second user/);
      const key = (await site.run(['keys', 'create', '--user', 'ada', '--name', 'k'])).stdout.trim();
      const titles = async (who: string) =>
        (await service.ask('/api/conversations', { key: who })).body.results.map(
          ({ title }: { title: string }) => title,
        );
      assert.deepEqual(await titles(service.key), ['Title of mine']);
      assert.deepEqual(await titles(key), ['Title of hers']);
      assert.equal((await service.ask('/api/settings', { key })).body.language, 'de');
      assert.equal((await service.ask('/api/settings')).body.language, null);

      const other = await site.run(['import', 'v0', join(folder, 'users/ada'), '--user', 'bob', '--json']);
      assert.equal(JSON.parse(other.stdout).users[0].user, 'bob');
      assert.equal(await countRows(site.storage, 'conversations'), 3);
    });

    it('stores nothing in a dry run, and reports the same as the import', async (t) => {
      const site = await createSite(kind, t);
      const folder = site.createDir();
      writeRecords(folder);
      writeV0Conversation(join(folder, 'sessions/one'), 'one');
      writeV0Conversation(join(folder, 'sessions/bad'), 'bad', { metadata: '{' });
      const dry = await importJson(site, folder, '--dry-run');
      if (kind === 'sqlite') assert.ok(!existsSync(join(site.storage.dataDir, 'parley.db')));
      const real = await importJson(site, folder);
      assert.deepEqual({ ...dry.report, dry_run: false }, real.report);
      assert.deepEqual([dry.code, real.code], [1, 1], 'a conversation was skipped');
      const again = await importJson(site, folder, '--dry-run');
      assert.equal(again.report.users[0].conversations.already_imported, 1);
    });
  });
}

describe('parley import v0', () => {
  it('ends with 1 if a user or a settings file is left out', async (t) => {
    const site = await createSite('sqlite', t);
    const damaged = site.createDir();
    writeFileSync(join(damaged, 'settings.json'), '{');
    const { code, report } = await importJson(site, damaged);
    assert.deepEqual([code, report.incomplete], [1, true]);
    const odd = site.createDir();
    writeRecords(join(odd, 'users/Bob Ü'));
    assert.equal((await importJson(site, odd)).code, 1);
  });

  it('refuses what is no file store and an ambiguous user, exit code 2', async (t) => {
    const site = await createSite('sqlite', t);
    const empty = site.createDir();
    const many = site.createDir();
    for (const user of ['a', 'b']) writeV0Conversation(join(many, `users/${user}/conversations/x`), 'x');
    const refusals: readonly [readonly string[], RegExp][] = [
      [[empty], /not the file store of a V0 server/],
      [[join(empty, 'nothing')], /does not exist/],
      [[mainFile], /does not exist/],
      [[many, '--user', 'c'], /has 2 users/],
      [[many, '--user', '../c'], /--user must begin with a letter/],
      [[], /folder/i],
    ];
    for (const [words, message] of refusals) {
      const { code, stderr } = await site.run(['import', 'v0', ...words]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    }
    assert.ok(!existsSync(join(site.storage.dataDir, 'parley.db')));
  });

  it('prints a line for every 100 conversations in a pipe, and a bar on a terminal', async (t) => {
    const service = await startService({}, t);
    const line = createCommandLine(service, t);
    const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
    t.after(async () => rmSync(folder, { recursive: true, force: true }));
    for (let i = 0; i < 250; i++)
      writeV0Conversation(join(folder, `sessions/c${i}`), `c${i}`, { events: [] });
    const piped = await line.run(['import', 'v0', folder]);
    assert.equal(piped.stderr, '100 of 250 conversations, 0 events\n200 of 250 conversations, 0 events\n');
    assert.match(
      piped.stdout,
      /owner: 0 settings, 0 access tokens, 0 secrets, 250 conversations, 0 events\.\n$/,
    );
    const shown = await line.runInTerminal(['import', 'v0', folder], { columns: 60 });
    assert.match(shown.stdout, /█{20} 250 of 250 conversations/);
    assert.match(shown.stdout, /250 conversations imported before/);
  });
});
