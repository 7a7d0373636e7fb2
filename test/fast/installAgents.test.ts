// How real agents are installed for their tests, with an installer that needs no registry.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Install, installAgents } from '../agents/install.ts';
import { temporaryFolder } from '../support/sandboxes.ts';

const packages = ['@some/one', 'two', 'three'].map((name) => ({ name, version: '1.0.0' }));

/** Fails for these, after a part of it is there. */
function installer(failing: readonly string[]) {
  const installed: string[] = [];
  const install: Install = async ({ name }, folder) => {
    mkdirSync(join(folder, 'lib'), { recursive: true });
    writeFileSync(join(folder, 'lib/package.json'), '{"version":"1.0.0"}');
    if (failing.includes(name)) throw new Error(`no ${name}`);
    mkdirSync(join(folder, 'bin'));
    installed.push(name);
  };
  return { install, installed };
}

describe('installing agents', () => {
  it('goes on with the others where one cannot be had, and says why', async (t) => {
    const { install, installed } = installer(['two']);
    const { bins, faults } = await installAgents(packages, temporaryFolder(t), install);
    assert.deepEqual(installed, ['@some/one', 'three']);
    assert.equal(bins.length, 2);
    assert.deepEqual([...faults], [['two', 'no two']]);
  });

  it('does not take one for installed that was broken off, and installs the others only once', async (t) => {
    const folder = temporaryFolder(t);
    await installAgents(packages, folder, installer(['two']).install);
    // As a process leaves it that is killed.
    mkdirSync(join(folder, 'two-1.0.0.part/lib'), { recursive: true });
    const again = installer([]);
    const { bins } = await installAgents(packages, folder, again.install);
    assert.deepEqual(again.installed, ['two']);
    assert.equal(bins.length, 3);
  });
});
