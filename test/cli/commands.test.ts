// The commands for settings, audit and the encryption key, as a person runs them.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createCommandLine, jsonLines } from '../support/commandLine.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { mainFile } from '../support/program.ts';
import { startService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

describe('parley settings, audit and secrets', () => {
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

  function parley(words: readonly string[], input = '') {
    const env = { PATH: process.env['PATH'], PARLEY_DATA_DIR: storage.dataDir };
    const { status, stdout, stderr } = spawnSync(process.execPath, [mainFile, ...words], {
      env,
      input,
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  }

  async function eventually(check: () => Promise<boolean>): Promise<void> {
    await until('the running service follows', check);
  }

  const record = async () => (await service.ask('/api/settings')).body;

  it('change a setting, which the running service shows soon', async () => {
    assert.equal(parley(['settings', 'set', 'llm_model', 'openai/x']).status, 0);
    assert.equal(parley(['settings', 'set', 'max_iterations', '9']).status, 0);
    await eventually(async () => (await record()).max_iterations === 9);
    assert.equal(parley(['settings', 'get', 'llm_model']).stdout, '"openai/x"\n');
    assert.equal(parley(['settings', 'set', 'llm_model', 'null']).status, 0);
    assert.equal(parley(['settings', 'get', 'llm_model']).stdout, 'null\n');
  });

  it('set defaults for users who have none, and never show their API key', async () => {
    assert.equal(parley(['defaults', 'set', 'max_budget_per_task', '3.5']).status, 0);
    assert.equal(parley(['defaults', 'get', 'max_budget_per_task']).stdout, '3.5\n');
    await eventually(async () => (await record()).max_budget_per_task === 3.5);
    assert.equal(parley(['defaults', 'set', 'search_api_key'], 'operator-key-from-file\n').status, 0);
    assert.equal(parley(['defaults', 'get', 'search_api_key_set']).stdout, 'true\n');
    assert.ok(!parley(['defaults', 'get']).stdout.includes('operator-key'));
    const refused = parley(['defaults', 'set', 'llm_api_key', 'on-the-command-line']);
    assert.deepEqual([refused.status, refused.stderr.includes('on-the-command-line')], [2, false]);
    for (const name of ['email', 'mcp_config', 'llm_modl'])
      assert.match(parley(['defaults', 'set', name, 'x']).stderr, /no default for such a setting/);
    for (const name of ['max_budget_per_task', 'search_api_key'])
      assert.equal(parley(['defaults', 'set', name, 'null']).status, 0);
    await eventually(async () => (await record()).max_budget_per_task === null);
  });

  it('read API keys only from standard input, and never show them', async () => {
    const refused = parley(['settings', 'set', 'llm_api_key', 'on-the-command-line']);
    assert.equal(refused.status, 2);
    assert.ok(!refused.stderr.includes('on-the-command-line'));
    assert.equal(parley(['settings', 'set', 'llm_api_key'], 'model-key-from-file\n').status, 0);
    await eventually(async () => (await record()).llm_api_key_set === true);
    const shown = [
      ['settings', 'get'],
      ['settings', 'export'],
      ['audit'],
      ['audit', '--json'],
      ['keys', 'list'],
    ];
    for (const words of shown) {
      const { status, stdout } = parley(words);
      assert.equal(status, 0);
      assert.ok(stdout.length > 10 && !stdout.includes('model-key-from-file'));
    }
  });

  it('store API keys of providers from standard input, in the database or over HTTP', async (t) => {
    const line = createCommandLine(service, t);
    const isSet = async () => (await service.ask('/api/provider-keys/xai')).body.is_set;
    // A named user means the local database.
    for (const where of [[], ['--user', 'owner']]) {
      const run = (words: readonly string[], input = '') =>
        line.run(['provider-keys', ...words, ...where], input);
      assert.equal((await run(['set', 'xai'], 'sk-canary-cli\n')).code, 0);
      assert.equal(await isSet(), true);
      const { stdout } = await run(['list']);
      assert.match(stdout, /^xai +stored$/m);
      assert.match(stdout, /^openai +–$/m);
      const [first] = jsonLines((await run(['list', '--json'])).stdout);
      assert.deepEqual(first, { provider: 'anthropic', is_set: false, is_required: true });
      assert.equal((await run(['remove', 'xai'])).code, 0);
      assert.equal(await isSet(), false);
      assert.match((await run(['remove', 'xai'])).stderr, /No API key of this provider is stored/);
      const bad = [
        [['set', 'xai', 'sk-on-the-command-line'], '', /provider-keys set/],
        // Before it asks for the key.
        [['set', 'nobody'], '', /no such provider.*anthropic/],
        [['set', 'xai'], '', /is empty/],
        [['set', 'xai'], 'two words', /without spaces/],
      ] as const;
      for (const [words, input, message] of bad) {
        const { code, stderr } = await run(words, input);
        assert.notEqual(code, 0);
        assert.match(stderr, message);
        assert.ok(!stderr.includes('sk-on') && !stderr.includes('two words'));
      }
    }
    assert.ok(!service.logs().includes('sk-canary-cli'));
    assert.match(parley(['audit']).stdout, /provider_key xai/);
  });

  it('refuse what the API would refuse, exit code 2, and name the setting', () => {
    const bad = [
      ['settings', 'set', 'max_iterations', '0'],
      ['settings', 'set', 'nonsense', '1'],
      ['settings', 'set', 'email_verified', 'true'],
      ['settings', 'set', 'language'],
      ['settings', 'get', 'nonsense'],
      ['settings', 'get', '--user', 'nobody'],
      ['settings', 'import', '/nonexistent.json'],
      ['settings', 'nonsense'],
      ['audit', '--last', '0'],
      ['audit', '--last', '1e2'],
      ['audit', '--text'],
      ['settings', 'constructor'],
      ['keys', 'toString'],
      ['webhooks', 'constructor'],
      ['secrets', 'nonsense'],
      ['snapshots', 'discard', 'no-such-conversation'],
      ['snapshots', 'discard', 'c', '--user', 'nobody'],
      ['nonsense'],
    ];
    for (const words of bad) {
      const { status, stderr } = parley(words);
      assert.equal(status, 2, words.join(' '));
      assert.match(stderr, /^parley: .{10,}/);
      assert.ok(!stderr.includes('    at '), stderr);
    }
    assert.match(
      parley(['settings', 'set', 'max_iterations', '0']).stderr,
      /max_iterations must be at least 1/,
    );
    assert.match(parley(['settings', 'set', 'llm_modle', 'x']).stderr, /Did you mean llm_model\?/);
  });

  it('import the files of an earlier installation, and say what is ignored', async () => {
    const file = join(storage.dataDir, 'old-settings.json');
    const old = {
      language: 'fr',
      agent: 'CodeActAgent',
      max_iterations: 42,
      llm_model: 'anthropic/claude-sonnet-4-5',
      llm_api_key: 'old-model-key',
      confirmation_mode: null,
      enable_sound_notifications: true,
      secrets_store: {
        provider_tokens: { github: { token: 'old-git-token', host: null, user_id: 'x' } },
        custom_secrets: {
          DEPLOY: { secret: 'old-secret', description: 'for deploys' },
          HIDDEN: { secret: '**********', description: null },
        },
      },
      mcp_config: { sse_servers: ['https://a.example/sse'], stdio_servers: [], shttp_servers: [] },
      v1_enabled: true,
    };
    writeFileSync(file, JSON.stringify(old));
    const { status, stderr } = parley(['settings', 'import', file]);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /v1_enabled/);
    assert.match(stderr, /only a mask of these secrets: custom_secrets\.HIDDEN\./);
    assert.ok(!/old-(model-key|git-token|secret)/.test(stderr));
    await eventually(async () => (await record()).max_iterations === 42);
    const now = await record();
    assert.deepEqual(now.provider_tokens_set, { github: null });
    assert.deepEqual(now.secrets_store.custom_secrets, { DEPLOY: { description: 'for deploys' } });
    assert.equal(now.mcp_config.sse_servers[0].url, 'https://a.example/sse');
    assert.equal(parley(['settings', 'import', file]).status, 0, 'again changes nothing');
  });

  it('export what they can import, without secrets', () => {
    const { stdout } = parley(['settings', 'export']);
    const file = join(storage.dataDir, 'export.json');
    writeFileSync(file, stdout);
    assert.ok(!/old-(model-key|git-token|secret)/.test(stdout));
    assert.equal(JSON.parse(stdout).max_iterations, 42);
    assert.equal(parley(['settings', 'import', file]).status, 0);
  });

  it('store nothing from a file with an invalid value', async () => {
    const file = join(storage.dataDir, 'bad.json');
    writeFileSync(file, JSON.stringify({ language: 'xx', max_iterations: -5 }));
    assert.equal(parley(['settings', 'import', file]).status, 2);
    assert.equal(JSON.parse(parley(['settings', 'get']).stdout).language, 'fr');
  });

  it('change the encryption key while the service runs', async () => {
    const before = readFileSync(join(storage.dataDir, 'secret.key'), 'utf8');
    const { status, stderr } = parley(['secrets', 'rotate']);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /records re-encrypted with key/);
    assert.notEqual(readFileSync(join(storage.dataDir, 'secret.key'), 'utf8'), before);
    assert.equal((await service.ask('/api/secrets', { json: { name: 'AFTER', value: 'v' } })).status, 201);
  });

  it('show in the audit who changed what', () => {
    const entries = jsonLines(parley(['audit', '--json']).stdout);
    const seen = entries.map(
      (e: Record<string, string>) => `${e['user']} ${e['key_id']} ${e['action']} ${e['subject']}`,
    );
    assert.ok(seen.includes('owner command-line settings.change llm_model'));
    assert.ok(seen.some((entry: string) => /^owner service key\.create [0-9a-f]{16} owner$/.test(entry)));
    assert.ok(
      seen.some((entry: string) => /sealing-key\.rotate/.test(entry)),
      seen.join('\n'),
    );
    assert.match(parley(['audit', '--last', '1']).stdout, /^TIME +USER +KEY +ACTION +SUBJECT\n.*\n$/);
  });

  const printing = [['--help'], ['help', 'new'], ['completion'], ['audit'], ['settings', 'get']];
  const environment = () => ({ PATH: process.env['PATH'], PARLEY_DATA_DIR: storage.dataDir });

  it('end with 141 and without a message if the reader of the output has gone', async () => {
    for (const words of printing) {
      const child = spawn(process.execPath, [mainFile, ...words], { env: environment() });
      child.stdout.destroy();
      let stderr = '';
      child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
      const [code] = await once(child, 'close');
      assert.deepEqual([code, stderr], [141, ''], words.join(' '));
    }
  });

  it('end with 1 and a message if the output cannot be written', {
    skip: !existsSync('/dev/full'),
  }, () => {
    for (const words of printing) {
      const { status, stderr } = spawnSync(process.execPath, [mainFile, ...words], {
        env: environment(),
        stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
        encoding: 'utf8',
      });
      assert.deepEqual(
        [status, stderr],
        [1, 'parley: The output cannot be written: ENOSPC.\n'],
        words.join(' '),
      );
    }
  });

  it('refuse to use the local data folder if PARLEY_URL names another machine', async () => {
    const env = {
      PATH: process.env['PATH'],
      PARLEY_DATA_DIR: storage.dataDir,
      PARLEY_URL: 'https://parley.invalid',
    };
    const local = [['audit'], ['secrets', 'rotate'], ['settings', 'get', '--user', 'owner']];
    for (const words of local) {
      const { status, stderr } = spawnSync(process.execPath, [mainFile, ...words], { env, encoding: 'utf8' });
      assert.deepEqual([status, /PARLEY_URL names another/.test(stderr)], [2, true], words.join(' '));
    }
  });

  it('take -h for help before a message, and after its first word for a mistake', () => {
    assert.match(parley(['new', '-h']).stdout, /^Usage: parley new/);
    assert.match(parley(['help', 'send']).stdout, /^Usage: parley send/);
    const { status, stderr } = parley(['new', 'what', 'does', '-h', 'do']);
    assert.equal(status, 2);
    assert.match(stderr, /no option -h.*quote the message.*"parley new --help" lists the options/);
  });

  it('explain every command, group and topic', () => {
    const shown: [string[], RegExp][] = [
      [['--help'], /^Conversations:\n {2}new /m],
      [['help'], /^Help topics:$/m],
      [['serve', '--help'], /^Usage: parley serve/],
      [['settings', '--help'], /^Usage: parley settings COMMAND/],
      [['keys', 'create', '-h'], /^Usage: parley keys create \[options\]/],
      [['help', 'keys', 'create'], /^Usage: parley keys create/],
      [['help', 'ls'], /^Usage: parley list/],
      [['help', 'exit-codes'], /^ {2}141 /m],
      [['version'], /^\d+\.\d+\.\d+\n$/],
      [['--version'], /^\d+\.\d+\.\d+\n$/],
    ];
    for (const [words, expected] of shown) {
      const { status, stdout } = parley(words);
      assert.equal(status, 0, words.join(' '));
      assert.match(stdout, expected);
    }
  });

  it('suggest the nearest command, exit code 2', () => {
    assert.match(parley(['lsit']).stderr, /There is no such command\. Did you mean list\?/);
    assert.match(parley(['keys', 'crate']).stderr, /command of "parley keys"\. Did you mean create\?/);
    const { status, stderr } = parley(['keys']);
    assert.deepEqual([status, /needs a command: create, list, revoke/.test(stderr)], [2, true]);
  });
});
