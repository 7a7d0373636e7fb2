import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { noBubblewrap, temporaryFolder } from '../../test/support/sandboxes.ts';
import { type ChooseOptions, planSandbox } from './choose.ts';

const usualPath = process.env['PATH'] ?? '';

/** A PATH with programs that say what they are told to. */
function machine(t: TestContext, programs: Record<string, string>): void {
  const folder = temporaryFolder(t);
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  process.env['PATH'] = folder;
  t.after(() => {
    process.env['PATH'] = usualPath;
  });
}

const plan = (t: TestContext, options: Partial<ChooseOptions> = {}) =>
  planSandbox({
    choice: 'auto',
    image: 'usual:1',
    runtime: undefined,
    hidden: [],
    trialFolder: temporaryFolder(t),
    seccomp: true,
    onLoopback: () => true,
    hasOneUser: async () => true,
    ...options,
  });

const working = 'exit 0';
const broken = 'echo "No permissions to create new namespace" >&2; exit 1';

describe('the choice of a sandbox', () => {
  it('is bubblewrap if that works', { skip: noBubblewrap }, async (t) => {
    const { kind, announcement, choose } = await plan(t);
    assert.deepEqual([kind, announcement], ['bubblewrap', 'Agents run in bubblewrap with a seccomp filter.']);
    const chosen = await choose();
    assert.ok('engine' in chosen && !chosen.builtInOnly && !chosen.confirmAlways);
  });

  it('is bubblewrap without the seccomp filter if the operator wants that, and says so', {
    skip: noBubblewrap,
  }, async (t) => {
    assert.equal((await plan(t)).seccomp, true);
    const { seccomp, announcement } = await plan(t, { seccomp: false });
    assert.equal(seccomp, false);
    assert.match(announcement, /^Agents run in bubblewrap without a seccomp filter, as PARLEY_SECCOMP=off/);
  });

  it('is not bubblewrap if it cannot install the filter, and says how to disable it', async (t) => {
    machine(t, { bwrap: 'case " $* " in *" --seccomp "*) echo "no seccomp here" >&2; exit 1 ;; esac' });
    const chosen = await (await plan(t, { choice: 'bubblewrap' })).choose();
    assert.ok('refusal' in chosen);
    assert.match(
      chosen.refusal,
      /seccomp filter here \(no seccomp here\); PARLEY_SECCOMP=off runs agents without/,
    );
    assert.equal((await plan(t, { choice: 'bubblewrap', seccomp: false })).kind, 'bubblewrap');
  });

  it('is also an older bubblewrap, without what it does not support', async (t) => {
    machine(t, { bwrap: 'case " $* " in *" --disable-userns "*) exit 1 ;; esac' });
    assert.equal((await plan(t)).kind, 'bubblewrap');
  });

  it('is docker if bubblewrap does not work', async (t) => {
    machine(t, { bwrap: broken, docker: working });
    assert.equal((await plan(t)).kind, 'docker');
  });

  it('is a restricted process if nothing works, for one user on loopback', async (t) => {
    machine(t, { bwrap: broken, docker: 'echo "Cannot connect" >&2; exit 1' });
    const { kind, announcement, choose } = await plan(t);
    assert.equal(kind, 'process');
    assert.match(announcement, /no sandbox.*No permissions to create new namespace.*Cannot connect/);
    const chosen = await choose();
    assert.ok('engine' in chosen && chosen.builtInOnly && chosen.confirmAlways);
  });

  it('is none if nothing works and others can connect', async (t) => {
    machine(t, {});
    const { kind, choose } = await plan(t, { onLoopback: () => false });
    assert.equal(kind, undefined);
    assert.deepEqual(await choose(), {
      refusal:
        'There is no sandbox to run it in: bubblewrap (bwrap) is not installed, and docker is not installed; install bubblewrap.',
    });
  });

  it('is none once there is a second user', async (t) => {
    machine(t, {});
    let one = true;
    for (const choice of ['auto', 'process'] as const) {
      one = true;
      const { choose } = await plan(t, { choice, hasOneUser: async () => one });
      assert.ok('engine' in (await choose()), choice);
      one = false;
      assert.ok('refusal' in (await choose()), choice);
    }
  });

  it('is an unrestricted process if the operator wants that, and says so', async (t) => {
    const { announcement, choose } = await plan(t, { choice: 'process', onLoopback: () => false });
    assert.match(announcement, /can do whatever the service can do/);
    const chosen = await choose();
    assert.ok('engine' in chosen && chosen.engine.kind === 'process');
    assert.ok(!chosen.builtInOnly && !chosen.confirmAlways);
  });

  it('is only the one that the operator configured', async (t) => {
    machine(t, { bwrap: broken, docker: working });
    const { choose } = await plan(t, { choice: 'bubblewrap' });
    const chosen = await choose();
    assert.ok('refusal' in chosen);
    assert.match(chosen.refusal, /bubblewrap does not work here \(No permissions/);
    machine(t, {});
    assert.ok('refusal' in (await (await plan(t, { choice: 'docker' })).choose()));
  });
});
