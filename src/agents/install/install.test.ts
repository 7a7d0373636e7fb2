import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startNpmRegistry, type TestPackage } from '../../../test/support/npmRegistry.ts';
import { missingSentence } from '../choose.ts';
import { findAgent } from '../find.ts';
import type { Profile } from '../profileSchema.ts';
import { loadProfiles } from '../profiles.ts';
import { installAgent, NoBinaryError, removeAgent } from './install.ts';
import { findNpm } from './npm.ts';

const thing: TestPackage = {
  name: '@some/thing',
  version: '1.2.3',
  manifest: { bin: { thing: 'main.js' }, scripts: { postinstall: 'env > ran.txt' } },
  files: { 'main.js': '#!/usr/bin/env node\n' },
};
const newer: TestPackage = { ...thing, version: '1.3.0' };
const helper: TestPackage = {
  name: 'helper',
  version: '2.0.0',
  manifest: { bin: 'helper.js' },
  files: { 'helper.js': '#!/usr/bin/env node\n' },
};

const profile: Profile = {
  id: 'thing',
  name: 'Thing',
  protocol: 'anthropic',
  packages: [{ name: '@some/thing', version: '1.2.3' }],
  programs: [{ command: 'thing', package: '@some/thing', args: [], env: {} }],
};

async function prepare(t: TestContext, packages: readonly TestPackage[]) {
  const agentsDir = mkdtempSync(join(tmpdir(), 'parley-install-'));
  t.after(() => rmSync(agentsDir, { recursive: true, force: true }));
  const registry = await startNpmRegistry(t, packages);
  const cache = join(agentsDir, '.cache');
  const npm = [...findNpm(), `--registry=${registry}`, `--cache=${cache}`, '--fetch-retries=0'];
  const folder = join(agentsDir, 'thing');
  return {
    agentsDir,
    folder,
    install: (change: Partial<Parameters<typeof installAgent>[0]> = {}) =>
      installAgent({
        profile,
        agentsDir,
        npm,
        signal: new AbortController().signal,
        onDownload: () => {},
        ...change,
      }),
    versions: () => readdirSync(folder).filter((name) => name !== 'installed.json'),
    find: () => findAgent(profile, { agentsDir, path: '' }),
  };
}

describe('installing an agent', () => {
  it('installs the version of the profile, and counts downloads', async (t) => {
    const { install, find, folder } = await prepare(t, [thing, newer]);
    let downloads = 0;
    const found = await install({
      onDownload: (count) => {
        downloads = count;
      },
    });
    assert.equal(found.version, '1.2.3');
    assert.deepEqual(await find(), found);
    assert.ok(downloads >= 2);
    assert.equal(statSync(join(folder, 'installed.json')).mode & 0o777, 0o644);
  });

  it('runs install scripts only if the profile says that the agent needs them', async (t) => {
    const { install, versions, folder } = await prepare(t, [thing]);
    const hasRun = () =>
      versions().some((name) => existsSync(join(folder, name, 'lib/node_modules/@some/thing/ran.txt')));
    await install();
    assert.equal(hasRun(), false);
    const packages = [{ name: '@some/thing', version: '1.2.3', scripts: true }];
    process.env['PARLEY_TEST_SECRET'] = 'canary-of-the-service';
    t.after(() => {
      delete process.env['PARLEY_TEST_SECRET'];
    });
    await install({ profile: { ...profile, packages } });
    assert.equal(hasRun(), true);
    const texts = versions().map((name) => join(folder, name, 'lib/node_modules/@some/thing/ran.txt'));
    const seen = texts.filter(existsSync).map((file) => readFileSync(file, 'utf8'));
    assert.ok(!seen.join('').includes('canary'), 'a script sees no variable of the service');
  });

  it('replaces a version, keeps the previous one for conversations that use it, and removes older ones', async (t) => {
    const { install, find, versions } = await prepare(t, [thing, newer]);
    await install();
    assert.equal((await install({ version: '1.3.0' })).version, '1.3.0');
    assert.deepEqual(
      versions()
        .map((name) => name.slice(0, 5))
        .sort(),
      ['1.2.3', '1.3.0'],
    );
    const found = await find();
    assert.ok(!('lacks' in found) && found.version === '1.3.0');
    await install({ version: '1.3.0' });
    assert.deepEqual(
      versions().map((name) => name.slice(0, 5)),
      ['1.3.0', '1.3.0'],
    );
  });

  it('is reported if its record is damaged, and works again after another installation', async (t) => {
    const { install, find, folder } = await prepare(t, [thing]);
    await install();
    const record = join(folder, 'installed.json');
    for (const text of ['', '{"folder": "../elsewhere"}', '{"folder": 7']) {
      writeFileSync(record, text);
      const found = await find();
      assert.deepEqual(found, { lacks: 'record' });
      assert.match(
        missingSentence(profile, { lacks: 'record' }),
        /installed\.json cannot be read. Install it again with: .* agents install /,
      );
    }
    const again = await install();
    assert.deepEqual(await find(), again);
    writeFileSync(record, '');
    assert.equal(await removeAgent(join(folder, '..'), profile.id), true);
    assert.deepEqual(await find(), { lacks: 'agent' });
  });

  it('keeps what was there if npm fails, and leaves no half of it', async (t) => {
    const tampered = { ...newer, isTampered: true };
    const { install, find, versions } = await prepare(t, [thing, tampered]);
    const before = await install();
    await assert.rejects(install({ version: '1.3.0' }), /RefusalError: npm could not install .*EINTEGRITY/s);
    await assert.rejects(install({ version: '9.9.9' }), /RefusalError: npm could not install .*9\.9\.9/s);
    assert.deepEqual(await find(), before);
    assert.equal(versions().length, 1);
  });

  it('stops when it is interrupted, and leaves nothing', async (t) => {
    const { install, find, versions } = await prepare(t, [thing]);
    await assert.rejects(install({ signal: AbortSignal.abort() }), /was interrupted/);
    assert.deepEqual([versions(), await find()], [[], { lacks: 'agent' }]);
  });

  it('removes what a dead process has left, but not what another one is installing', async (t) => {
    const { install, versions, folder } = await prepare(t, [thing]);
    mkdirSync(join(folder, '.part-999999999-aa'), { recursive: true });
    mkdirSync(join(folder, `.part-${process.pid}-bb`));
    await install();
    assert.deepEqual(
      versions().filter((name) => name.startsWith('.part')),
      [`.part-${process.pid}-bb`],
    );
  });

  it('installs helpers with it, and refuses an agent that would lack one', async (t) => {
    const { install } = await prepare(t, [thing, helper]);
    const [program] = profile.programs;
    assert.ok(program !== undefined);
    const needing = { ...profile, programs: [{ ...program, needs: [{ command: 'helper' }] }] };
    await assert.rejects(install({ profile: needing }), /needs the program helper/);
    const packages = [...(profile.packages ?? []), { name: 'helper', version: '2.0.0' }];
    const found = await install({ profile: { ...needing, packages } });
    assert.deepEqual(
      found.helpers.map(({ command }) => command),
      ['helper'],
    );
  });

  it('refuses an agent whose program for this machine is not in the registry', async (t) => {
    const binary = `thing-${process.platform}-${process.arch}`;
    const optionalDependencies = { [binary]: '1.2.3', 'thing-other-cpu': '1.2.3', decoration: '5.0.0' };
    const needing = { ...thing, manifest: { ...thing.manifest, optionalDependencies } };
    const { install } = await prepare(t, [needing]);
    await assert.rejects(
      install(),
      (error: Error) => error instanceof NoBinaryError && error.message.includes(binary),
    );
    const other = await prepare(t, [needing, { name: binary, version: '1.2.3' }]);
    assert.equal((await other.install()).version, '1.2.3');
  });

  it('refuses what it cannot install, before anything is written', async (t) => {
    const { install, folder } = await prepare(t, []);
    for (const version of ['latest', '^1.0.0', '../1.0.0', 'https://example.com/x.tgz', '1.2.3 --global'])
      await assert.rejects(install({ version }), /version must be exact/);
    const { packages: _, ...manual } = profile;
    await assert.rejects(
      install({ profile: { ...manual, install: 'cargo install thing' } }),
      /cargo install/,
    );
    const builtin = loadProfiles().find(({ id }) => id === 'builtin');
    assert.ok(builtin !== undefined);
    await assert.rejects(install({ profile: builtin }), /needs no installation/);
    assert.equal(existsSync(folder), false);
  });
});

describe('removing an agent', () => {
  it('removes all of it, once', async (t) => {
    const { install, agentsDir, folder } = await prepare(t, [thing]);
    await install();
    assert.equal(await removeAgent(agentsDir, 'thing'), true);
    assert.equal(existsSync(folder), false);
    assert.equal(await removeAgent(agentsDir, 'thing'), false);
  });
});

describe('finding npm', () => {
  it('says what to do if there is none', () => {
    assert.throws(
      () => findNpm('/nonexistent:relative', '/nonexistent/bin/node'),
      /npm is not installed\. .*apt install npm/,
    );
  });

  it('runs a script of another kind as it is', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-npm-'));
    t.after(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'npm'), '#!/bin/sh\n', { mode: 0o755 });
    assert.deepEqual(findNpm(folder, '/nonexistent/bin/node'), [join(folder, 'npm')]);
  });
});
