// How many copies of snapshots a process keeps for readers.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { temporaryFolder } from '../../test/support/snapshots.ts';
import { until } from '../../test/support/until.ts';
import type { SandboxLoss } from '../sandbox/sandbox.ts';
import { createRestoredCopies } from './restoredCopies.ts';

function openCopies(t: TestContext) {
  const dataDir = temporaryFolder(t);
  const freeMin = { freeBytesMin: 0, freeFilesMin: 0 };
  const copies = createRestoredCopies({ dataDir, freeMin, onBackgroundError: (error) => assert.fail(error) });
  t.after(copies.close);
  const add = (id: string, userId: number) =>
    copies.add(id, userId, async (folder) => {
      writeFileSync(join(folder, 'restored'), '');
      return { close: async () => {} };
    });
  return { dataDir, copies, add };
}

describe('restored copies of snapshots', () => {
  it('of one user leave room for those of others', async (t) => {
    const { copies, add } = openCopies(t);
    for (const id of ['a', 'b', 'c', 'd']) add(id, 1).readers += 1;
    assert.throws(() => add('e', 1), { code: 'overloaded' });
    await add('f', 2).ready;
    assert.ok(['a', 'b', 'c', 'd', 'f'].every((id) => copies.find(id) !== undefined));
  });

  it('make room by the one that was read longest ago', async (t) => {
    const { copies, add } = openCopies(t);
    const [first, second] = [add('a', 1), add('b', 1)];
    for (const id of ['c', 'd']) await add(id, 1).ready;
    // Somebody reads the oldest.
    first.readers += 1;
    add('e', 1);
    assert.deepEqual([copies.find('a'), copies.find('b')], [first, undefined]);
    await until('its files are gone', () => !existsSync(second.folder));
  });

  it('on another machine are held until they are removed, and restored again if they are lost', async (t) => {
    const { copies, add } = openCopies(t);
    const lost = Promise.withResolvers<SandboxLoss>();
    let closed = 0;
    const close = async () => void closed++;
    const held = copies.add('a', 1, async () => ({ close, lost: lost.promise }));
    await held.ready;
    assert.equal(closed, 0);
    lost.resolve({ sentence: 'It has gone.', isOwnFault: false });
    await until('it is forgotten', () => copies.find('a') === undefined);
    assert.notEqual(add('a', 1), held);
    copies.add('b', 1, async () => ({ close }));
    await copies.close();
    assert.equal(closed, 2);
  });

  it('that fail are tried again by the next request, and none is left at the end', async (t) => {
    const { dataDir, copies, add } = openCopies(t);
    const failing = copies.add('a', 1, async () => Promise.reject(new Error('no')));
    await assert.rejects(failing.ready, /^Error: no$/);
    await until('it is forgotten', () => copies.find('a') === undefined);
    await add('a', 1).ready;
    await copies.close();
    assert.deepEqual(readdirSync(join(dataDir, 'restored')), []);
  });
});
