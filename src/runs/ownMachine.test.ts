// A conversation goes back to the machine that has its files, whichever process gets its messages.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from '../../test/support/inspect.ts';
import { shell } from '../../test/support/runTalk.ts';
import { createCluster, type Machine } from '../../test/support/snapshots.ts';
import { until } from '../../test/support/until.ts';

/** Stops the conversation, and waits until its run has ended. */
async function stop(machine: Machine, id: string): Promise<void> {
  await machine.stop(id);
  await until('the run has ended', async () => {
    const [row] = await inspect(machine.storage, `select run_id from conversations where id = '${id}'`);
    return row?.['run_id'] === null;
  });
}

describe('a conversation on one of two machines', () => {
  it('waits for a slot there, and continues with all files, while the other machine runs later ones', async (t) => {
    const cluster = await createCluster(t, { env: { PARLEY_SNAPSHOTS: '' } });
    const first = await cluster.startMachine({ env: { PARLEY_SLOTS: '1' } });
    const id = await first.create('really-run echo kept >a.txt');
    await first.turns(id, 1);
    await stop(first, id);
    const busy = await first.create('print working\\n|@never');
    await first.reaches(busy, 'RUNNING');

    const second = await cluster.startMachine();
    await second.say(id, 'really-run cat a.txt');
    const later = await second.create('say hello');
    assert.deepEqual(await second.turns(later, 1), ['hello']);
    assert.equal((await second.info(id)).start_progress?.step, 'waiting_for_worker');
    await stop(second, busy);
    await second.turns(id, 2);
    const ran = (await second.events(id)).filter(({ observation }) => observation === 'run');
    assert.equal(ran.at(-1)?.content, 'kept\n');
  });

  it('continues on the other one at once after its own was stopped', async (t) => {
    const cluster = await createCluster(t, { env: { PARLEY_SNAPSHOTS: '' } });
    const first = await cluster.startMachine();
    const id = await first.create('say hello');
    await first.turns(id, 1);
    await stop(first, id);
    const second = await cluster.startMachine();
    await first.service.stop();
    assert.equal(await shell(second, id, 2, 'echo new'), 'new\n');
  });
});
