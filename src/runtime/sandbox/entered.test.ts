import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { newCell, temporaryFolder } from '../../../test/support/cells.ts';
import { createBridge } from '../bridge/bridge.ts';
import { enter } from './entered.ts';
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
