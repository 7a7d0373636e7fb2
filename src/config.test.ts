import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isLoopbackName, readConfig, serviceOptions } from './config.ts';
import { RefusalError } from './errors.ts';

describe('readConfig', () => {
  it('needs nothing: loopback, port 3000, ./data, no limits', () => {
    const config = readConfig({});
    assert.deepEqual([config.host, config.port], ['127.0.0.1', 3000]);
    assert.match(config.dataDir, /\/data$/);
    assert.deepEqual([config.rateLimit, config.createLimit, config.waitingMax], [0, 0, 0]);
    assert.equal(config.onLoopback, true);
    assert.equal(config.databaseUrl, undefined);
  });

  it('limits by default when bound elsewhere, and not where 0 is asked for', () => {
    const open = readConfig({ HOST: '0.0.0.0' });
    assert.deepEqual([open.rateLimit, open.createLimit, open.waitingMax], [100, 60, 1_000]);
    assert.equal(open.onLoopback, false);
    assert.equal(readConfig({ HOST: '0.0.0.0', PARLEY_WAITING_MAX: '0' }).waitingMax, 0);
    assert.equal(readConfig({ PARLEY_WAITING_MAX: '7' }).waitingMax, 7);
    assert.equal(readConfig({ HOST: '0.0.0.0', PARLEY_RATE_LIMIT: '0' }).rateLimit, 0);
  });

  it('lets a flag win over the environment, and takes an empty value as absent', () => {
    assert.equal(readConfig({ PORT: '1' }, { port: '2' }).port, 2);
    assert.equal(readConfig({ PORT: '' }).port, 3000);
  });

  it('leaves private addresses to the rule unless the operator decides', () => {
    const allowed = (value?: string) =>
      readConfig({ PARLEY_ALLOW_PRIVATE_ADDRESSES: value }).allowPrivateAddresses;
    assert.deepEqual([allowed(), allowed('0'), allowed('1')], [undefined, false, true]);
    assert.equal(readConfig({}, { 'allow-private-addresses': '1' }).allowPrivateAddresses, true);
  });

  it('takes local folders as a list like PATH, without empty entries', () => {
    assert.deepEqual(readConfig({}).localFolders, []);
    assert.deepEqual(readConfig({ PARLEY_LOCAL_FOLDERS: '/a/b/:/c:' }).localFolders, ['/a/b', '/c']);
  });

  it('keeps the seccomp filter on unless the operator turns it off', () => {
    assert.deepEqual([readConfig({}).seccomp, readConfig({}, { seccomp: 'off' }).seccomp], ['on', 'off']);
  });

  it('looks for the files of agents and prices in the data folder unless they are named', () => {
    const usual = readConfig({ PARLEY_DATA_DIR: '/d' });
    assert.deepEqual([usual.agentsFile, usual.pricesFile], ['/d/agents.json', '/d/prices.json']);
    const file = import.meta.filename;
    const named = readConfig({ PARLEY_AGENTS_FILE: file }, { 'prices-file': file });
    assert.deepEqual([named.agentsFile, named.pricesFile], [file, file]);
  });

  it('refuses a file that is named and cannot be read', () => {
    for (const name of ['PARLEY_AGENTS_FILE', 'PARLEY_PRICES_FILE'])
      assert.throws(() => readConfig({ [name]: '/nonexistent.json' }), {
        name: 'RefusalError',
        message: `${name} names /nonexistent.json, which cannot be read (ENOENT).`,
      });
  });

  it('takes the address of a search server, in one form', () => {
    assert.equal(readConfig({}).searchUrl, undefined);
    assert.equal(readConfig({}, { 'search-url': 'HTTP://10.0.0.1:80/mcp' }).searchUrl, 'http://10.0.0.1/mcp');
  });

  it('takes a notification command as a path, or as a list with its arguments', () => {
    const read = (text: string) => readConfig({ PARLEY_NOTIFY_COMMAND: text }).notifyCommand;
    assert.equal(readConfig({}).notifyCommand, undefined);
    assert.deepEqual(read('/bin/sh'), ['/bin/sh']);
    assert.deepEqual(read('["/bin/sh", "-c", "a b"]'), ['/bin/sh', '-c', 'a b']);
    for (const text of ['sh', '[]', '["sh"]', '["/bin/sh", 5]', '["/bin/sh"'])
      assert.throws(() => read(text), /must be the absolute path of a program, or a JSON list/);
    assert.throws(() => read('/nowhere/notify'), /names \/nowhere\/notify, which cannot be run \(ENOENT\)/);
  });

  it('takes an encryption key in hex and in base64', () => {
    const key = Buffer.alloc(32, 7);
    assert.deepEqual(readConfig({ PARLEY_SECRET_KEY: key.toString('hex') }).secretKeys, [key]);
    assert.deepEqual(readConfig({ PARLEY_SECRET_KEY: key.toString('base64') }).secretKeys, [key]);
    const both = `${key.toString('hex')}, ${Buffer.alloc(32, 8).toString('hex')}`;
    assert.equal(readConfig({ PARLEY_SECRET_KEY: both }).secretKeys.length, 2);
  });

  const bad: readonly [string, string][] = [
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PARLEY_SECCOMP', '0'],
    ['PORT', '3e3'],
    ['DATABASE_URL', 'mysql://x'],
    ['PARLEY_DATABASE_CONNECTIONS', 'all'],
    ['SESSION_API_KEY', 'short'],
    ['SESSION_API_KEY', 'with a space'],
    ['PARLEY_SECRET_KEY', 'too short'],
    ['PARLEY_LOG_LEVEL', 'loud'],
    ['PARLEY_RATE_LIMIT', 'many'],
    ['PARLEY_ACCEPT_BEARER', 'yes'],
    ['PARLEY_CORS_ORIGINS', 'https://a.example/path'],
    ['PARLEY_CORS_ORIGINS', '*'],
    ['PARLEY_PUBLIC_URL', 'nonsense.test'],
    ['PARLEY_TRUST_PROXY', '10.0.0.0/33'],
    ['PARLEY_TRUST_PROXY', 'everyone'],
    ['PARLEY_ALLOW_PRIVATE_ADDRESSES', 'true'],
    ['PARLEY_ALLOW_PRIVATE_ADDRESSES', '169.254.169.254'],
    ['PARLEY_WORKSPACE_FILES', 'many'],
    ['PARLEY_LOCAL_FOLDERS', '/srv/code:code'],
    ['PARLEY_SNAPSHOTS', 'snapshots'],
    ['PARLEY_SNAPSHOTS', 's3:///a'],
    ['PARLEY_SNAPSHOTS', 's3://Bucket/a'],
    ['PARLEY_SNAPSHOTS', 's3://user:secret@bucket/a'],
    ['PARLEY_SNAPSHOT_MB', 'none'],
    ['PARLEY_SNAPSHOT_FILES', 'all'],
    ['PARLEY_SEARCH_URL', 'search.example'],
    ['PARLEY_SEARCH_URL', 'ftp://a.example/mcp'],
    ['PARLEY_SEARCH_URL', 'https://user@a.example/mcp'],
    ['PARLEY_SEARCH_URL', 'https://a.example/mcp?key=x'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'a.example:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:secret@a.example'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'https://a.example/v1/traces?key=x'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_TRACES_SAMPLER_ARG', '-0.5'],
  ];
  for (const [name, value] of bad) {
    it(`refuses ${name}=${value}, names the option and not the value`, () => {
      assert.throws(
        () => readConfig({ [name]: value }),
        (error: Error) =>
          error instanceof RefusalError && error.message.startsWith(name) && !error.message.includes(value),
      );
    });
  }
});

describe('serviceOptions', () => {
  it('gives every option a group, a help that is a sentence, and a default', () => {
    const options = serviceOptions();
    assert.ok(options.length >= 30);
    for (const { env, group, help, shownDefault } of options) {
      assert.match(help, /^[A-Z1].*\.$/, env);
      assert.ok(group !== '' && shownDefault !== '', env);
    }
  });

  it('gives no flag to a secret', () => {
    const withoutFlag = serviceOptions().flatMap(({ env, flag }) => (flag === undefined ? [env] : []));
    assert.deepEqual(withoutFlag, [
      'DATABASE_URL',
      'SESSION_API_KEY',
      'PARLEY_AUTH_TOKEN',
      'PARLEY_SECRET_KEY',
    ]);
  });
});

describe('isLoopbackName', () => {
  it('knows loopback from its imitations', () => {
    for (const name of ['localhost', 'LocalHost', 'a.localhost', '127.0.0.1', '127.1.2.3', '[::1]', '::1'])
      assert.ok(isLoopbackName(name), name);
    for (const name of ['localhost.example', '127.0.0.1.example', '128.0.0.1', '0.0.0.0', '', 'xlocalhost'])
      assert.ok(!isLoopbackName(name), name);
  });
});
