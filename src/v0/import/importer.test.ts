import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createRandom } from '../../../test/chaos/random.ts';
import {
  fingerprintFolder,
  v0Events,
  v0Message,
  v0Metadata,
  v0Secrets,
  v0Settings,
  writeJson,
  writeV0Conversation,
} from '../../../test/support/v0FileStore.ts';
import type { ImportedConversation } from '../../conversations/import/service.ts';
import { importFileStore } from './importer.ts';
import type { Records } from './records.ts';
import { openSourceFolder } from './sourceFolder.ts';
import { findUsers } from './sourceUsers.ts';
import { createDryTarget, type ImportTarget } from './target.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of any shape
type Stored = { user: string; row: ReturnType<ImportedConversation['describe']>; events: any[] };

const gib = 2 ** 30;
const nowMs = Date.parse('2026-01-01T00:00:00Z');

/** Imports a folder into memory, and checks that the folder stays as it is. */
async function importFolder(
  folder: string,
  { user, rows }: { user?: string; rows?: ImportTarget['settings'] } = {},
) {
  const conversations = new Map<string, Stored>();
  const records = new Map<string, Records[]>();
  const before = fingerprintFolder(folder);
  const report = await importFileStore({
    found: findUsers(openSourceFolder(folder), 'owner', user),
    folder,
    dryRun: false,
    nowMs,
    signal: new AbortController().signal,
    onProgress: () => {},
    agentNames: ['CodeActAgent', 'builtin'],
    openTarget: async (name) => ({
      ...createDryTarget(rows === undefined ? undefined : { settings: rows, find: async () => undefined }),
      storeRecords: async (one) => {
        records.set(name, [...(records.get(name) ?? []), one]);
        return [];
      },
      storeConversation: async (id, { pieces, describe: row }) => {
        const texts = [...pieces].flat();
        const events = texts.map((text) => JSON.parse(String(text)));
        conversations.set(id, { user: name, row: row(), events });
        return 'imported';
      },
    }),
  });
  assert.equal(fingerprintFolder(folder), before, 'the source is unchanged');
  const reasons = Object.fromEntries(report.skipped.map(({ path, reason }) => [path, reason]));
  return { report, reasons, conversations, records };
}

function createFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const secret = (name: string) => `CANARY-${name}`;
const contents = (events: Stored['events']) => events.map((event) => event.args.content);
const messages = (...words: string[]) => words.map((word, i) => v0Message(i, word));

describe('the events of a V0 conversation', () => {
  it('keep their fields, get ids without gaps, and refer to the new ids', async (t) => {
    const folder = createFolder(t);
    const old = join(folder, 'sessions/a');
    writeV0Conversation(old, 'a', { events: [] });
    const shifted = v0Events('Hello').map((event, i) => ({ ...event, id: 10 * i }));
    for (const event of shifted) {
      const cause = 'cause' in event ? { cause: 30 } : {};
      writeJson(join(old, `events/${event.id}.json`), { ...event, ...cause });
    }
    const { conversations } = await importFolder(folder);
    const events = conversations.get('a')?.events ?? [];
    assert.equal(events.length, 6);
    assert.deepEqual([events[4].cause, events[4].extras.metadata.pid, events[4].success], [3, 12, true]);
    assert.deepEqual(events[2].args, { recall_type: 'workspace_context', query: 'Hello', thought: '' });
    assert.ok(events.every((event) => event.replayed === true && !('id' in event)));
  });

  it('come from pages of the cache where their own files are missing or damaged, and never twice', async (t) => {
    const folder = createFolder(t);
    const old = join(folder, 'sessions/a');
    const all = Array.from({ length: 60 }, (_, i) => v0Message(i, `message ${i}`));
    writeV0Conversation(old, 'a', { events: [] });
    writeJson(join(old, 'event_cache/0-25.json'), all.slice(0, 25));
    writeJson(join(old, 'event_cache/25-50.json'), all.slice(25, 50));
    for (const event of all.slice(40)) writeJson(join(old, `events/${event.id}.json`), event);
    writeJson(join(old, 'events/45.json'), '{"id":45,');
    writeJson(join(old, 'events/3.json'), { ...v0Message(3, 'the newer one') });
    writeJson(join(old, 'event_cache/9-1.json'), [v0Message(9, 'no page')]);
    writeJson(join(old, 'event_cache/60-85.json'), '[{"id":60,"content":"CANARY');
    const { conversations, report } = await importFolder(folder);
    const expected = all.map(({ args }, i) => (i === 3 ? 'the newer one' : args.content));
    assert.deepEqual(contents(conversations.get('a')?.events ?? []), expected);
    const lost = 'lacks 25 of its events: sessions/a/event_cache/60-85.json is not valid JSON';
    assert.deepEqual(report.skipped, [{ path: 'sessions/a', reason: lost }]);
  });

  it('are left out one by one if they are damaged or hostile, with the number and the first reason', async (t) => {
    const folder = createFolder(t);
    const old = join(folder, 'sessions/a');
    writeV0Conversation(old, 'a', { events: messages('first') });
    const bad: Readonly<Record<string, string | Buffer>> = {
      1: '{"action":"message","args":{"content":"cut',
      2: `{"action":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
      3: `{"action":${'['.repeat(200_000)}`,
      4: '"text"',
      5: '[1,2]',
      6: '',
      7: '{"action":"message","__proto__":{"x":1}}',
      8: Buffer.from([0xff, 0xfe, 0x00]),
      9: 'NaN',
      10: `[${'1,'.repeat(1_100_000)}1]`,
    };
    for (const [id, text] of Object.entries(bad)) writeFileSync(join(old, `events/${id}.json`), text);
    writeFileSync(join(old, 'events/11.json'), '');
    truncateSync(join(old, 'events/11.json'), gib);
    symlinkSync('/etc/passwd', join(old, 'events/12.json'));
    mkdirSync(join(old, 'events/13.json'));
    execFileSync('mkfifo', [join(old, 'events/14.json')]);
    writeJson(join(old, 'events/15.json'), v0Message(15, 'last'));
    writeJson(join(old, 'events/notes.txt'), 'no event');
    writeJson(join(old, 'events/99999999999999.json'), v0Message(1, 'no id'));
    const { conversations, report, reasons } = await importFolder(folder);
    assert.deepEqual(contents(conversations.get('a')?.events ?? []), ['first', 'last']);
    assert.deepEqual(report.users[0]?.events, { imported: 2, skipped: 14 });
    assert.equal(reasons['sessions/a'], 'lacks 14 of its events: sessions/a/events/1.json is not valid JSON');
  });

  it('are stored as valid Unicode, whatever bytes they have', async (t) => {
    const folder = createFolder(t);
    const old = join(folder, 'sessions/a');
    writeV0Conversation(old, 'a', { events: [] });
    const [head = '', tail = ''] = JSON.stringify({ ...v0Message(0, '|'), message: '' }).split('|');
    writeFileSync(
      join(old, 'events/0.json'),
      Buffer.concat([Buffer.from(head), Buffer.from([0xc3, 0x28]), Buffer.from(`\\u0000\\ud800${tail}`)]),
    );
    const { conversations } = await importFolder(folder);
    const [text = ''] = contents(conversations.get('a')?.events ?? []);
    assert.equal(text, '\ufffd(\0\ufffd');
  });

  it('keep unknown shapes, and lose only what would be wrong here', async (t) => {
    const folder = createFolder(t);
    const events = [
      { action: 'future', args: [1, 2], source: 'robot' },
      { observation: 7, cause: 0, content: { a: 1 }, timestamp: 'yesterday' },
      { other: true, cause: 99, id: 'x', replayed: 'no' },
    ];
    writeV0Conversation(join(folder, 'sessions/a'), 'a', { events });
    const { conversations } = await importFolder(folder);
    const stored = (conversations.get('a')?.events ?? []).map(({ timestamp, ...rest }) => {
      assert.ok(!Number.isNaN(Date.parse(timestamp)));
      return rest;
    });
    assert.deepEqual(stored, [
      { action: 'future', args: [1, 2], source: 'robot', replayed: true },
      { observation: 7, cause: 0, content: { a: 1 }, replayed: true },
      { other: true, replayed: true },
    ]);
  });

  it('are at most a million, otherwise the conversation is skipped without reading them', async (t) => {
    const folder = createFolder(t);
    const old = join(folder, 'sessions/a');
    writeV0Conversation(old, 'a', { events: [] });
    for (let page = 0; page <= 1_001; page++)
      writeJson(join(old, `event_cache/${page * 1_000}-${(page + 1) * 1_000}.json`), '[]');
    writeJson(join(old, 'event_cache/0-99999999.json'), '[]');
    const { reasons, conversations } = await importFolder(folder);
    assert.equal(conversations.size, 0);
    assert.equal(reasons['sessions/a'], 'has more than 1000000 events');
  });
});

describe('the metadata of a V0 conversation', () => {
  it('is optional in every field, and wrong values count as absent', async (t) => {
    const folder = createFolder(t);
    const wrong = {
      title: 7,
      selected_repository: 'a\0b',
      selected_branch: ['x'],
      git_provider: 'sourceforge',
      trigger: 'Robert"; drop',
      created_at: '2099-01-01T00:00:00Z',
      last_updated_at: 'soon',
      accumulated_cost: -3,
      prompt_tokens: '12',
      completion_tokens: 1e300,
    };
    writeV0Conversation(join(folder, 'sessions/wrong'), 'wrong', {
      metadata: wrong,
      events: messages('Fix it'),
    });
    writeV0Conversation(join(folder, 'sessions/empty'), 'empty', { metadata: {}, events: [] });
    const { conversations } = await importFolder(folder);
    const { row } = conversations.get('wrong') as Stored;
    assert.deepEqual(
      [row.title, row.trigger, row.repository, row.branch, row.gitProvider, row.request],
      ['Fix it', 'gui', null, null, null, '{}'],
    );
    assert.equal(new Date(row.createdAtMs).toISOString(), '2025-08-01T10:00:00.123Z');
    assert.deepEqual([row.cost_nanos, row.input_tokens, row.output_tokens], [0, 0, 1e15]);
    assert.equal(conversations.get('empty')?.row.title, 'Conversation empty');
  });

  it('gives a title without control characters and of at most 200 characters', async (t) => {
    const folder = createFolder(t);
    const title = `a\0b\u001b[31m\n${'😀'.repeat(500)}\ud800`;
    writeV0Conversation(join(folder, 'sessions/a'), 'a', { metadata: v0Metadata('a', { title }) });
    const { conversations } = await importFolder(folder);
    const found = conversations.get('a')?.row.title ?? '';
    assert.ok(found.startsWith('a b [31m 😀'));
    assert.equal(Array.from(found).length, 200);
    assert.ok(found.isWellFormed());
  });
});

describe('the conversations of a V0 server', () => {
  it('are skipped one by one, with a reason', async (t) => {
    const folder = createFolder(t);
    const sessions = join(folder, 'sessions');
    writeV0Conversation(join(sessions, 'good'), 'good');
    writeV0Conversation(join(sessions, 'no-metadata'), 'x', { metadata: null });
    writeV0Conversation(join(sessions, 'bad-json'), 'x', { metadata: '{"title": "CANARY' });
    writeV0Conversation(join(sessions, 'with space'), 'x');
    writeV0Conversation(join(sessions, 'a%2f..'), 'x');
    writeV0Conversation(join(sessions, '..dots'), '..dots');
    mkdirSync(join(sessions, 'huge'));
    writeFileSync(join(sessions, 'huge/metadata.json'), '');
    truncateSync(join(sessions, 'huge/metadata.json'), gib);
    mkdirSync(join(sessions, 'linked-metadata'));
    symlinkSync('/etc/hostname', join(sessions, 'linked-metadata/metadata.json'));
    const outside = createFolder(t);
    writeV0Conversation(join(outside, 'stolen'), 'stolen');
    symlinkSync(join(outside, 'stolen'), join(sessions, 'stolen'));
    symlinkSync('..', join(sessions, 'loop'));
    writeV0Conversation(join(sessions, 'linked-events'), 'linked-events', { events: [] });
    rmSync(join(sessions, 'linked-events/events'), { recursive: true });
    symlinkSync(join(outside, 'stolen/events'), join(sessions, 'linked-events/events'));
    const { conversations, reasons, report } = await importFolder(folder);
    assert.deepEqual([...conversations.keys()], ['good']);
    assert.deepEqual(reasons, {
      'sessions/no-metadata': 'has no metadata.json, so the old server does not show it either',
      'sessions/bad-json': 'has a metadata.json that is not valid JSON',
      'sessions/with space': 'cannot be the id of a conversation',
      'sessions/a%2f..': 'cannot be the id of a conversation',
      'sessions/huge': 'has a metadata.json that is larger than 1048576 bytes',
      'sessions/linked-metadata': 'has a metadata.json that is a link, which is not followed',
      'sessions/stolen': 'is a link, which is not followed',
      'sessions/loop': 'is a link, which is not followed',
      'sessions/linked-events': 'has events that are not a folder, or a link to one',
    });
    assert.equal(report.users[0]?.conversations.skipped, 9);
  });

  it('are reported if only a link leads to all of them', async (t) => {
    const [folder, outside] = [createFolder(t), createFolder(t)];
    writeV0Conversation(join(outside, 'a'), 'a');
    symlinkSync(outside, join(folder, 'sessions'));
    symlinkSync(outside, join(folder, 'users'));
    const { conversations, reasons, report } = await importFolder(folder);
    assert.equal(conversations.size, 0);
    const link = 'is a link, which is not followed';
    assert.deepEqual(reasons, { users: link, sessions: link });
    assert.equal(report.users[0]?.conversations.skipped, 1);
  });

  it('are imported or reported whatever happens to the bytes of their files', async (t) => {
    const random = createRandom(18);
    const folder = createFolder(t);
    const files: string[] = [];
    for (let i = 0; i < 200; i++) {
      const old = join(folder, `sessions/c${i}`);
      writeV0Conversation(old, `c${i}`);
      files.push(join(old, 'metadata.json'), ...v0Events('').map((_, n) => join(old, `events/${n}.json`)));
    }
    writeJson(join(folder, 'settings.json'), v0Settings(secret));
    writeJson(join(folder, 'secrets.json'), v0Secrets(secret));
    files.push(join(folder, 'settings.json'), join(folder, 'secrets.json'));
    for (const file of files) {
      const bytes = readFileSync(file);
      for (let change = random.between(0, 3); change > 0; change--)
        bytes[random.between(0, bytes.length - 1)] = random.pick([
          0, 0x22, 0x2c, 0x5b, 0x7d, 0x80, 0xff, 0x31,
        ]);
      writeFileSync(file, random.chance(0.9) ? bytes : bytes.subarray(0, random.between(0, bytes.length)));
    }
    const { report, conversations } = await importFolder(folder);
    const [user] = report.users;
    assert.ok(!JSON.stringify(report).includes('CANARY'));
    assert.equal(user?.conversations.found, 200);
    assert.equal(user.conversations.imported, conversations.size);
    assert.equal(user.conversations.imported + user.conversations.skipped, 200);
    const events = user.events.imported + user.events.skipped;
    assert.equal(events, 6 * conversations.size, 'every event is imported or reported');
  });

  it('belong to the users of their folders, or all to one that is named', async (t) => {
    const folder = createFolder(t);
    writeV0Conversation(join(folder, 'sessions/a'), 'a');
    writeV0Conversation(join(folder, 'users/ada-42/conversations/b'), 'b');
    writeV0Conversation(join(folder, 'users/ada-42/sessions/c'), 'c');
    writeV0Conversation(join(folder, 'users/no name/conversations/d'), 'd');
    symlinkSync('ada-42', join(folder, 'users/eve'));
    const own = await importFolder(folder);
    const usersOf = (found: Awaited<ReturnType<typeof importFolder>>) =>
      Object.fromEntries([...found.conversations].map(([id, { user }]) => [id, user]));
    assert.deepEqual(usersOf(own), { a: 'owner', b: 'ada-42', c: 'ada-42' });
    assert.match(own.reasons['users/no name'] ?? '', /cannot be the name of a user/);
    assert.equal(own.reasons['users/eve'], 'is a link, which is not followed');
    const named = await importFolder(folder, { user: 'bob' });
    assert.deepEqual(usersOf(named), { a: 'bob', b: 'bob', c: 'bob', d: 'bob' });
  });
});

describe('the settings and secrets of a V0 server', () => {
  it('are imported value by value: what is wrong, masked or unknown is named, and no value is printed', async (t) => {
    const folder = createFolder(t);
    const mask = '**********';
    writeJson(join(folder, 'settings.json'), {
      ...v0Settings(secret),
      agent: secret('agent'),
      max_iterations: secret('number'),
      llm_base_url: `https://u:${secret('url')}@x.example`,
      search_api_key: mask,
      mcp_config: {
        sse_servers: [{ url: 'https://a.example', api_key: mask }, { url: secret('not a url') }],
        stdio_servers: [{ name: 'one', command: 'npx', env: { T: mask } }],
        shttp_servers: 7,
      },
    });
    writeJson(join(folder, 'secrets.json'), {
      provider_tokens: {
        ...v0Secrets(secret).provider_tokens,
        bitbucket: { token: mask },
        forgejo: { token: secret('forgejo') },
        enterprise_sso: { token: '' },
      },
      custom_secrets: {
        GOOD: { secret: secret('good') },
        'bad name': { secret: secret('bad') },
        MASKED: { secret: mask },
        EMPTY: { secret: '' },
        NOTHING: null,
      },
    });
    const { records, reasons, report } = await importFolder(folder);
    assert.ok(!JSON.stringify(report).includes('CANARY'));
    const [secrets, settings] = records.get('owner') ?? [];
    assert.deepEqual(secrets?.secrets, [{ name: 'GOOD', value: secret('good'), description: null }]);
    assert.deepEqual(Object.keys(secrets?.providers ?? {}), ['github', 'gitlab']);
    assert.equal(settings?.settings.llm_api_key, secret('model'));
    assert.deepEqual(settings?.settings.mcp_config, { sse_servers: [{ url: 'https://a.example' }] });
    for (const name of ['max_iterations', 'llm_base_url', 'search_api_key'])
      assert.ok(!(name in settings.settings));
    assert.deepEqual(Object.keys(reasons).sort(), [
      'secrets.json: custom_secrets.MASKED',
      'secrets.json: custom_secrets.bad name',
      'secrets.json: provider_tokens.bitbucket',
      'secrets.json: provider_tokens.forgejo',
      'settings.json: agent',
      'settings.json: condenser_max_size',
      'settings.json: llm_base_url',
      'settings.json: max_iterations',
      'settings.json: mcp_config.sse_servers[0]',
      'settings.json: mcp_config.sse_servers[1]',
      'settings.json: mcp_config.stdio_servers[0]',
      'settings.json: search_api_key',
    ]);
  });

  it('never replace what is set in Parley', async (t) => {
    const folder = createFolder(t);
    writeJson(join(folder, 'settings.json'), { language: 'de', max_iterations: 7, llm_api_key: 'k' });
    writeJson(join(folder, 'secrets.json'), v0Secrets(secret));
    const row = { host: null, description: null };
    const { records, reasons } = await importFolder(folder, {
      rows: async () => ({
        version: 3,
        document: '{"language":"fr"}',
        secrets: [
          { kind: 'llm_api_key', name: '', ...row },
          { kind: 'provider_token', name: 'github', ...row },
          { kind: 'custom', name: 'DEPLOY', ...row },
        ],
        operator: null,
      }),
    });
    const [secrets, settings] = records.get('owner') ?? [];
    assert.deepEqual(settings?.settings, { max_iterations: 7 });
    assert.deepEqual([Object.keys(secrets?.providers ?? {}), secrets?.secrets], [['gitlab'], []]);
    assert.deepEqual(reasons, {
      'settings.json': 'has values that are set in Parley already: language, llm_api_key',
      'secrets.json':
        'has values that are set in Parley already: provider_tokens.github, custom_secrets.DEPLOY',
    });
  });

  it('are skipped as a whole if the file is damaged, too large or a link', async (t) => {
    for (const write of [
      (file: string) => writeFileSync(file, '{"llm_api_key": "CANARY'),
      (file: string) => writeFileSync(file, '["CANARY"]'),
      (file: string) => symlinkSync('/etc/passwd', file),
      (file: string) => {
        writeFileSync(file, '');
        truncateSync(file, gib);
      },
    ]) {
      const folder = createFolder(t);
      write(join(folder, 'settings.json'));
      writeV0Conversation(join(folder, 'sessions/a'), 'a');
      const { reasons, conversations, records } = await importFolder(folder);
      assert.match(
        reasons['settings.json'] ?? '',
        /^(is not valid JSON|is not an object|is a link|is larger)/,
      );
      assert.equal(conversations.size, 1, 'the rest is imported');
      assert.equal(records.size, 0);
    }
  });
});
