// The start message of the service, and how commands find a service and its API key.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { App } from '../../app.ts';
import { readConfig } from '../../config.ts';
import { findKey, serviceAddress } from '../connection/connection.ts';
import { announceService, findService } from '../connection/runningService.ts';
import { banner, unknownVariableWarnings } from './serve.ts';

const app: App = {
  url: 'http://127.0.0.1:3000',
  ownerKey: undefined,
  needsModel: false,
  databaseKind: 'sqlite',
  sandbox: 'Agents run in a sandbox.',
  limitsNote: undefined,
  snapshots: undefined,
  privateAddressNote: undefined,
  stop: async () => {},
  hurry: () => {},
};
const config = readConfig({ PARLEY_DATA_DIR: '/tmp/parley-banner' });

describe('the banner', () => {
  const file = '/tmp/parley-banner/owner.key';

  it('shows the new owner key and a sign-in link on a terminal, and only the URL later', () => {
    const first = banner({ ...app, ownerKey: { made: 'pk_made', usable: true, file } }, config, true);
    assert.match(first, /^ {2}Owner key: pk_made$/m);
    assert.match(first, /^ {2}Open http:\/\/127\.0\.0\.1:3000\/#key=pk_made$/m);
    const later = banner({ ...app, ownerKey: { made: undefined, usable: true, file } }, config, true);
    assert.match(later, /^ {2}Open http:\/\/127\.0\.0\.1:3000\/$/m);
    assert.doesNotMatch(later, /pk_/);
  });

  it('names the file of the owner key, and not the key, if the output is not a terminal', () => {
    const shown = banner({ ...app, ownerKey: { made: 'pk_made', usable: true, file } }, config, false);
    assert.doesNotMatch(shown, /pk_made/);
    assert.ok(shown.includes(`Owner key: written to ${file}`));
    assert.ok(shown.includes(`X-Session-API-Key: $(cat ${file})`));
  });

  it('shows whole paths if the service was started in the root folder', (t) => {
    const folder = process.cwd();
    t.after(() => process.chdir(folder));
    process.chdir('/');
    const shown = banner({ ...app, ownerKey: { made: 'pk_made', usable: true, file } }, config, false);
    assert.ok(shown.includes(`Owner key: written to ${file}`));
    assert.ok(shown.includes('data in /tmp/parley-banner)'));
  });

  it('says how to choose a model if that is needed', () => {
    assert.match(
      banner({ ...app, needsModel: true }, config, true),
      /Choose a model.*\n.*settings set llm_model/,
    );
    assert.doesNotMatch(banner(app, config, true), /Choose a model|llm_model/);
  });

  it('says that private addresses are off, also for a worker', () => {
    const noted = { ...app, privateAddressNote: 'Local models are off.' };
    const asWorker = readConfig({ PARLEY_ROLE: 'worker', DATABASE_URL: 'postgres://localhost/x' });
    for (const shown of [banner(noted, config, true), banner(noted, asWorker, false)])
      assert.match(shown, /^ {2}Agents run in a sandbox\.\n {2}Local models are off\.$/m);
  });

  it('warns of limits that do not hold', () => {
    const shown = banner({ ...app, limitsNote: 'Nothing limits memory of agents.' }, config, true);
    assert.match(shown, /^ {2}Agents run in a sandbox\.\n {2}Warning: Nothing limits memory of agents\.$/m);
  });

  it('says where snapshots are stored, or warns that they cannot be', () => {
    const line = (sentence: string, isFault: boolean) =>
      banner({ ...app, snapshots: { sentence, isFault } }, config, false).split('\n')[2];
    assert.equal(line('They are stored.', false), '  They are stored.');
    assert.equal(line('They cannot be stored.', true), '  Warning: They cannot be stored.');
  });

  it('says which key other machines on PostgreSQL need, unless the environment has it', () => {
    const env = { PARLEY_DATA_DIR: '/tmp/parley-banner', DATABASE_URL: 'postgres://h/d' };
    const same = 'set PARLEY_SECRET_KEY there to that in /tmp/parley-banner/secret.key.';
    const shown = (more: Record<string, string>) =>
      banner({ ...app, databaseKind: 'postgres' }, readConfig({ ...env, ...more }), false);
    for (const role of ['all', 'worker']) assert.ok(shown({ PARLEY_ROLE: role }).includes(same), role);
    assert.ok(!shown({ PARLEY_SECRET_KEY: '11'.repeat(32) }).includes('secret.key'));
    assert.ok(!banner(app, config, false).includes('secret.key'));
  });

  it('says that commands need the DATABASE_URL of the service, and does not repeat it', () => {
    const env = { PARLEY_DATA_DIR: '/tmp/parley-banner', DATABASE_URL: 'postgres://u:s3cret@h/d' };
    const needs = /^ {2}The commands need the same DATABASE_URL in their environment as this service\.$/m;
    for (const ownerKey of [
      { made: 'pk_made', usable: true, file },
      { made: undefined, usable: false, file },
    ]) {
      const needsModel = ownerKey.usable;
      const shown = banner({ ...app, databaseKind: 'postgres', ownerKey, needsModel }, readConfig(env), true);
      assert.match(shown, needs);
      assert.doesNotMatch(shown, /s3cret/);
      assert.match(shown, /PARLEY_DATA_DIR=\/tmp\/parley-banner parley (?:settings set|keys create)/);
      assert.doesNotMatch(banner({ ...app, ownerKey }, config, true), needs);
    }
  });

  it('shows the public URL if there is one', () => {
    const shown = banner(app, readConfig({ PARLEY_PUBLIC_URL: 'https://parley.example.com' }), true);
    assert.match(shown, /^ {2}Open https:\/\/parley\.example\.com\/$/m);
  });
});

describe('a variable that is no option', () => {
  it('is named, with what was probably meant', () => {
    const env = {
      PARLEY_SLOT: '3',
      PARLEY_WHATEVER: '1',
      PARLEY_SLOTS: '3',
      PARLEY_URL: 'x',
      PARLEY_KEY: 'x',
      PARLEY_COMMAND: 'x',
      HOME: '/',
    };
    const [slot, whatever, ...more] = unknownVariableWarnings(env);
    assert.match(slot ?? '', /^PARLEY_SLOT in the environment is no option .* Did you mean PARLEY_SLOTS\?$/);
    assert.match(whatever ?? '', /^PARLEY_WHATEVER .* lists them all\.$/);
    assert.deepEqual(more, []);
  });
});

function emptyFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-serve-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('service.url', () => {
  it('leads commands to the service of the data folder while it runs, and only its owner can read it', (t) => {
    const folder = emptyFolder(t);
    const env = { PARLEY_DATA_DIR: folder };
    assert.deepEqual(serviceAddress(env), { url: 'http://127.0.0.1:3000', isLocal: true, isTrusted: false });
    const withdraw = announceService(folder, 'http://0.0.0.0:4567');
    assert.deepEqual(serviceAddress(env), { url: 'http://127.0.0.1:4567', isLocal: true, isTrusted: true });
    assert.equal(statSync(join(folder, 'service.url')).mode & 0o077, 0);
    assert.equal(serviceAddress({ ...env, PORT: '4000' }).url, 'http://127.0.0.1:4000');
    const withdrawOther = announceService(folder, 'http://[::]:4568');
    withdraw();
    assert.equal(findService(folder), 'http://[::1]:4568');
    withdrawOther();
    assert.equal(findService(folder), undefined);
  });

  it('counts only while its process lives, and only for this machine', (t) => {
    const folder = emptyFolder(t);
    const { pid } = process;
    for (const text of [
      'http://127.0.0.1:1\n4194305\n',
      `http://evil.test:1\n${pid}\n`,
      `http://127.0.0.1:1@evil.test:1\n${pid}\n`,
      `http://127.0.0.1.evil.test:1\n${pid}\n`,
      'http://127.0.0.1:1\n0\n',
    ]) {
      writeFileSync(join(folder, 'service.url'), text);
      assert.equal(findService(folder), undefined, text);
    }
  });
});

describe("the owner's API key", () => {
  it('is sent to loopback addresses and localhost if they are named, and to no other host', () => {
    const SESSION_API_KEY = 'owner-secret';
    const keyFor = (env: Record<string, string>) =>
      findKey(serviceAddress(env), { ...env, SESSION_API_KEY }) === SESSION_API_KEY;
    for (const PARLEY_URL of ['http://localhost:1', 'http://127.9.9.9:1', 'http://[::1]:1'])
      assert.ok(keyFor({ PARLEY_URL }), PARLEY_URL);
    for (const PARLEY_URL of ['http://evil.localhost:1', 'http://localhost.test', 'http://10.0.0.1:1'])
      assert.ok(!keyFor({ PARLEY_URL }), PARLEY_URL);
    assert.ok(keyFor({ PORT: '4000' }));
    assert.ok(!keyFor({ PARLEY_DATA_DIR: '/nowhere' }));
  });
});
