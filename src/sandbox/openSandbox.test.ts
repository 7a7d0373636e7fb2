// What holds in every kind of sandbox that this machine has.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { describeSandbox } from '../../test/support/everySandbox.ts';
import {
  bubblewrap,
  cgroups,
  newSandboxSpec,
  noBubblewrap,
  temporaryFolder,
} from '../../test/support/sandboxes.ts';
import { createBridge } from '../bridge/bridge.ts';
import { openSandbox } from './openSandbox.ts';
import { processEngine } from './processEngine.ts';
import type { HostEngine } from './sandbox.ts';

const leftovers = !cgroups.holds.processes && 'there are no control groups here';

describeSandbox({ kind: 'bubblewrap', engine: bubblewrap, skip: noBubblewrap });
describeSandbox({ kind: 'process', engine: () => processEngine, skip: false, exceptions: { leftovers } });

describe('a sandbox that cannot be opened', () => {
  it('leaves no folder for a socket, and no cgroup', async (t) => {
    // The path of a socket must be short.
    const spec = newSandboxSpec(t);
    const folder = join(temporaryFolder(t), 'x'.repeat(200));
    mkdirSync(folder);
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = folder;
    t.after(() => {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    });
    const engine: HostEngine = { ...processEngine, bridgeConnection: 'socket' };
    const opening = openSandbox({ engine, spec, bridge: createBridge({ handlers: {} }), cgroups });
    await assert.rejects(opening, /EINVAL|ENAMETOOLONG/);
    assert.deepEqual(readdirSync(folder), []);
    // Its name is free again.
    await cgroups.create(spec).end();
  });
});
