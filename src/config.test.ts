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

  it('takes the name of a container runtime, and nothing that looks like a flag', () => {
    assert.equal(readConfig({}).dockerRuntime, undefined);
    assert.equal(readConfig({ PARLEY_DOCKER_RUNTIME: 'runsc' }).dockerRuntime, 'runsc');
    assert.throws(() => readConfig({ PARLEY_DOCKER_RUNTIME: '--privileged' }), RefusalError);
    assert.equal(readConfig({ PARLEY_KUBERNETES_NAMESPACE: 'team-a' }).kubernetesNamespace, 'team-a');
    assert.throws(() => readConfig({ PARLEY_KUBERNETES_NAMESPACE: 'a/../b' }), RefusalError);
    assert.equal(readConfig({ PARLEY_KUBERNETES_RUNTIME_CLASS: 'gvisor' }).kubernetesRuntimeClass, 'gvisor');
    assert.throws(() => readConfig({ PARLEY_KUBERNETES_RUNTIME_CLASS: 'No' }), RefusalError);
    assert.equal(readConfig({ PARLEY_KUBERNETES_VOLUMES: '' }).kubernetesVolumes, undefined);
    assert.equal(readConfig({ PARLEY_KUBERNETES_VOLUMES: '10Gi' }).kubernetesVolumes, '10Gi');
    for (const size of ['0', '-1Gi', '10 Gi', '10GB', 'much'])
      assert.throws(() => readConfig({ PARLEY_KUBERNETES_VOLUMES: size }), RefusalError);
    assert.equal(
      readConfig({ PARLEY_KUBERNETES_STORAGE_CLASS: 'fast-ssd' }).kubernetesStorageClass,
      'fast-ssd',
    );
    assert.throws(() => readConfig({ PARLEY_KUBERNETES_STORAGE_CLASS: 'a/b' }), RefusalError);
  });

  it('looks for the files of agents and prices in the data folder unless they are named', () => {
    const usual = readConfig({ PARLEY_DATA_DIR: '/d' });
    assert.deepEqual([usual.agentsFile, usual.pricesFile], ['/d/agents.json', '/d/prices.json']);
    const file = import.meta.filename;
    const named = readConfig({ PARLEY_AGENTS_FILE: file }, { 'prices-file': file });
    assert.deepEqual([named.agentsFile, named.pricesFile], [file, file]);
  });

  it('keeps removed users for 30 days unless the operator decides', () => {
    const days = (value?: string) => readConfig({ PARLEY_REMOVED_USER_DAYS: value }).removedUserDays;
    assert.deepEqual([days(), days('0'), days('7')], [30, 0, 7]);
    assert.throws(() => days('-1'), RefusalError);
  });

  describe('of the sign-in', () => {
    const base = {
      PARLEY_OIDC_ISSUER: 'https://login.example.com/realms/a',
      PARLEY_OIDC_CLIENT_ID: 'parley',
      PARLEY_PUBLIC_URL: 'https://parley.example.com',
    };
    const refuses = (env: Record<string, string | undefined>, message: RegExp) =>
      assert.throws(() => readConfig({ ...base, ...env }), { name: 'RefusalError', message });

    it('lets nobody in who was not linked, unless the operator decides', () => {
      const config = readConfig(base);
      assert.deepEqual(
        [config.oidcCreateUsers, config.oidcUserClaim, config.oidcScopes, config.oidcClientAuth],
        [false, 'preferred_username', 'openid profile email', 'basic'],
      );
      assert.deepEqual([config.sessionIdleMinutes, config.sessionHours], [720, 168]);
      const emails = {
        PARLEY_OIDC_EMAIL_DOMAINS: '@Example.com, b.org',
        PARLEY_OIDC_ADMIN_EMAILS: 'A@b.org',
      };
      const limited = readConfig({ ...base, ...emails });
      assert.deepEqual(limited.oidcEmailDomains, ['example.com', 'b.org']);
      assert.deepEqual(limited.oidcAdminEmails, ['a@b.org']);
    });

    it('is refused if it could not work', () => {
      refuses({ PARLEY_OIDC_CLIENT_ID: undefined }, /needs PARLEY_OIDC_CLIENT_ID/);
      refuses({ PARLEY_PUBLIC_URL: undefined }, /needs PARLEY_PUBLIC_URL/);
      refuses({ PARLEY_OIDC_ISSUER: undefined }, /need PARLEY_OIDC_ISSUER/);
      refuses({ PARLEY_OIDC_SCOPES: 'profile' }, /includes openid/);
      refuses({ PARLEY_OIDC_EMAIL_DOMAINS: 'a b' }, /PARLEY_OIDC_EMAIL_DOMAINS must be/);
      for (const issuer of ['login.example.com', 'ftp://a', 'https://a?b', 'https://u:p@a'])
        refuses({ PARLEY_OIDC_ISSUER: issuer }, /PARLEY_OIDC_ISSUER must be/);
    });

    it('is refused if others could listen, or if everybody could sign in by accident', () => {
      refuses({ PARLEY_OIDC_ISSUER: 'http://login.example.com' }, /must be an https URL/);
      refuses({ PARLEY_PUBLIC_URL: 'http://parley.example.com' }, /must be an https URL/);
      readConfig({
        ...base,
        PARLEY_OIDC_ISSUER: 'http://127.0.0.1:9',
        PARLEY_PUBLIC_URL: 'http://localhost:1',
      });
      refuses({ PARLEY_OIDC_CREATE_USERS: '1' }, /EMAIL_DOMAINS=\* lets everyone in/);
      readConfig({ ...base, PARLEY_OIDC_CREATE_USERS: '1', PARLEY_OIDC_GROUPS: 'a' });
    });
  });

  it('has no budgets of users unless the operator sets them', () => {
    const budget = (value?: string) => readConfig({ PARLEY_USER_BUDGET_DAY: value }).userBudgetDay;
    assert.deepEqual([budget(), budget('0'), budget('2.5')], [0, 0, 2.5]);
    assert.equal(readConfig({}, { 'user-budget-month': '100' }).userBudgetMonth, 100);
    for (const bad of ['-1', 'much', '1e3', '2000000']) assert.throws(() => budget(bad), RefusalError);
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
    ['PARLEY_BACKUP_HOURS', 'daily'],
    ['PARLEY_BACKUP_KEEP', 'all'],
    ['PARLEY_BACKUP_WORKSPACES', 'yes'],
    ['PARLEY_BACKUP_KEYS', 'all'],
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
      'PARLEY_BACKUP_PASSPHRASE',
      'PARLEY_OIDC_CLIENT_SECRET',
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
