import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { longSleep, newSandboxSpec, sleeps, temporaryFolder } from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';
import { createBridge } from '../bridge/bridge.ts';
import { openSandbox } from './openSandbox.ts';
import { processEngine } from './processEngine.ts';
import { openProcessRecords } from './processRecords.ts';
import { startProcess } from './sandboxProcess.ts';

/** A first process that has a channel to the service, and does what the program says. */
function startWithChannel(t: TestContext, source: string) {
  const bridge = createBridge({ handlers: {} });
  const spec = newSandboxSpec(t);
  const program = { argv: [process.execPath, '-e', source], env: {} } as const;
  const wrapped = processEngine.wrap(spec, program, 'bridge');
  const started = startProcess({
    wrapped,
    cgroup: undefined,
    records: undefined,
    exclusiveWorkspace: null,
    handover: bridge,
  });
  t.after(async () => {
    await started.kill();
    await bridge.close();
  });
  return started.process;
}

const live = 'setInterval(() => {}, 1_000);';

describe('a process that hands over something other than a listener', () => {
  const programs = {
    nothing: `process.send('listening'); ${live}`,
    'a connection': `const server = require('node:net').createServer().listen(0, '127.0.0.1', () => {
      const socket = require('node:net').connect(server.address().port, '127.0.0.1');
      socket.on('connect', () => process.send('listening', socket));
    }); ${live}`,
  };
  for (const [what, program] of Object.entries(programs))
    it(`is killed: ${what}`, async (t) => {
      const { ended } = await startWithChannel(t, program);
      assert.deepEqual(await ended, { code: null, signal: 'SIGKILL' });
    });
});

describe('a process whose children may escape', () => {
  /** No control group ends what it has started. */
  async function openLoose(t: TestContext, argv: readonly [string, ...string[]]) {
    const spec = newSandboxSpec(t);
    const open = await openSandbox({ engine: processEngine, spec });
    t.after(() => open.close());
    await open.start({ argv, env: {} });
    return { open, has: (name: string) => existsSync(join(spec.workspace, name)) };
  }

  for (const atOnce of [false, true])
    it(`dies with what left its group, ${atOnce ? 'at once' : 'after a moment'}`, async (t) => {
      const sleep = longSleep();
      const { open } = await openLoose(t, ['sh', '-c', `setsid sh -c 'setsid sleep ${sleep} & wait' & wait`]);
      await until('it runs', () => sleeps(sleep) === 1);
      await open.close({ atOnce });
      assert.equal(sleeps(sleep), 0);
    });

  it('may end by itself first, unless it must end at once', async (t) => {
    const argv = ['sh', '-c', 'touch begun; read line; touch ended'] as const;
    for (const atOnce of [false, true]) {
      const { open, has } = await openLoose(t, argv);
      await until('it has begun', () => has('begun'));
      await open.close({ atOnce });
      assert.equal(has('ended'), !atOnce);
    }
  });

  it('dies with its children even if it has ended by itself meanwhile', async (t) => {
    const sleep = longSleep();
    const { open } = await openLoose(t, ['sh', '-c', `setsid sleep ${sleep} & read line`]);
    await until('it runs', () => sleeps(sleep) === 1);
    await open.close();
    assert.equal(sleeps(sleep), 0);
  });
});

describe('a leftover process whose children may escape', () => {
  it('is ended with what left its group', async (t) => {
    const records = openProcessRecords(temporaryFolder(t));
    const spec = newSandboxSpec(t);
    const open = await openSandbox({ engine: processEngine, spec, records, exclusive: true });
    t.after(() => open.close());
    const sleep = longSleep();
    await open.start({ argv: ['sh', '-c', `setsid sleep ${sleep} & wait`], env: {} });
    await until('it runs', () => sleeps(sleep) === 1);
    assert.equal(await records.endExclusive(spec.workspace, () => true), 1);
    assert.equal(sleeps(sleep), 0);
  });
});

describe('a process that cannot be killed completely', () => {
  it('ends anyway, and stays recorded', async (t) => {
    const folder = temporaryFolder(t);
    const faults: Error[] = [];
    const records = openProcessRecords(folder, { onFault: (error) => faults.push(error) });
    const wrapped = processEngine.wrap(newSandboxSpec(t), { argv: ['true'], env: {} }, 'none');
    // No kernel makes a process that cannot be killed on request.
    const cgroup = { sandboxFolders: [], wrap: () => wrapped, end: async () => false };
    const { process } = startProcess({
      wrapped,
      cgroup,
      records,
      exclusiveWorkspace: null,
      handover: undefined,
    });
    assert.deepEqual(await (await process).ended, { code: 0, signal: null });
    assert.deepEqual([readdirSync(folder).length, faults.length], [1, 1]);
  });
});
