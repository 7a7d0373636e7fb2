import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { longSleep, newCell, sleeps, temporaryFolder } from '../../test/support/cells.ts';
import { until } from '../../test/support/until.ts';
import { createBridge } from '../bridge/bridge.ts';
import { enter } from './entered.ts';
import { openCell } from './openCell.ts';
import { openLaunchRecords } from './orphans.ts';
import { processSandbox } from './process.ts';

/** A first process that has a channel to the service, and does what the program says. */
function enterWithChannel(t: TestContext, program: string) {
  const bridge = createBridge({ handlers: {} });
  const cell = newCell(t);
  const launch = { argv: [process.execPath, '-e', program], env: {} } as const;
  const wrapped = processSandbox.wrap(cell, launch, 'bridge');
  const entry = enter({ wrapped, group: undefined, records: undefined, alone: null, handover: bridge });
  t.after(async () => {
    await entry.kill();
    await bridge.close();
  });
  return entry.entered;
}

const live = 'setInterval(() => {}, 1_000);';

describe('a launch that hands something else over than a listener', () => {
  const programs = {
    nothing: `process.send('listening'); ${live}`,
    'a connection': `const server = require('node:net').createServer().listen(0, '127.0.0.1', () => {
      const socket = require('node:net').connect(server.address().port, '127.0.0.1');
      socket.on('connect', () => process.send('listening', socket));
    }); ${live}`,
  };
  for (const [what, program] of Object.entries(programs))
    it(`is killed: ${what}`, async (t) => {
      const { ended } = await enterWithChannel(t, program);
      assert.deepEqual(await ended, { code: null, signal: 'SIGKILL' });
    });
});

describe('a launch that nothing holds together', () => {
  /** No control group ends what it has started. */
  async function openLoose(t: TestContext, argv: readonly [string, ...string[]]) {
    const cell = newCell(t);
    const open = await openCell({ sandbox: processSandbox, cell });
    t.after(() => open.close());
    await open.enter({ argv, env: {} });
    return { open, has: (name: string) => existsSync(join(cell.workspace, name)) };
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

  it('dies with what it had started also where it has ended by itself meanwhile', async (t) => {
    const sleep = longSleep();
    const { open } = await openLoose(t, ['sh', '-c', `setsid sleep ${sleep} & read line`]);
    await until('it runs', () => sleeps(sleep) === 1);
    await open.close();
    assert.equal(sleeps(sleep), 0);
  });
});

describe('a launch that was left, and that nothing holds together', () => {
  it('is ended with what left its group', async (t) => {
    const records = openLaunchRecords(temporaryFolder(t));
    const cell = newCell(t);
    const open = await openCell({ sandbox: processSandbox, cell, records, alone: true });
    t.after(() => open.close());
    const sleep = longSleep();
    await open.enter({ argv: ['sh', '-c', `setsid sleep ${sleep} & wait`], env: {} });
    await until('it runs', () => sleeps(sleep) === 1);
    assert.equal(await records.endAlone(cell.workspace, () => true), 1);
    assert.equal(sleeps(sleep), 0);
  });
});

describe('a launch of which something cannot be killed', () => {
  it('is over all the same, and stays noted', async (t) => {
    const folder = temporaryFolder(t);
    const faults: Error[] = [];
    const records = openLaunchRecords(folder, { onFault: (error) => faults.push(error) });
    const wrapped = processSandbox.wrap(newCell(t), { argv: ['true'], env: {} }, 'none');
    // No kernel makes a process that cannot be killed on request.
    const group = { cellFolders: [], wrap: () => wrapped, end: async () => false };
    const { entered } = enter({ wrapped, group, records, alone: null, handover: undefined });
    assert.deepEqual(await (await entered).ended, { code: 0, signal: null });
    assert.deepEqual([readdirSync(folder).length, faults.length], [1, 1]);
  });
});
