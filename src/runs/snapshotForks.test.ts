// A fork has the files of its turn, and an agent that does not know what came later.
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { inspect } from '../../test/support/inspect.ts';
import { filesOf, type TestEvent } from '../../test/support/runs.ts';
import { shell } from '../../test/support/runTalk.ts';
import { noBubblewrap } from '../../test/support/sandboxes.ts';
import { type Cluster, createCluster, type Machine } from '../../test/support/snapshots.ts';
import { until } from '../../test/support/until.ts';

const isMessage = ({ source, action }: TestEvent) => source === 'user' && action === 'message';

/** Waits until the snapshots of so many turns are recorded. */
function turnsStored({ storage }: Machine, count: number): Promise<unknown> {
  return until(
    'the turns are stored',
    async () => (await inspect(storage, 'select heard from snapshot_turns')).length === count,
    20_000,
  );
}

/** A conversation of two turns, with the last event of the first one. */
async function converse(cluster: Cluster, machine: Machine) {
  const id = await cluster.createStored(machine, 'echo one >a.txt; echo home >"$HOME/kept"');
  await turnsStored(machine, 1);
  await shell(machine, id, 2, 'echo two >a.txt; echo late >b.txt');
  await turnsStored(machine, 2);
  const second = (await machine.events(id)).findLastIndex(isMessage);
  return { id, lastOfFirst: second - 1 };
}

const forkOf = ({ service }: Machine, id: string, json: object) =>
  service.ask(`/api/conversations/${id}/fork`, { json });

describe('a fork', () => {
  it('has the files and the history of its turn, and nothing of later ones', {
    skip: noBubblewrap,
  }, async (t) => {
    const cluster = await createCluster(t);
    const machine = await cluster.startMachine({ sandbox: 'bubblewrap' });
    const { id, lastOfFirst } = await converse(cluster, machine);
    const { status, body, text } = await forkOf(machine, id, { event_id: lastOfFirst });
    assert.equal(status, 200, text);
    assert.equal(body.conversation_status, 'STOPPED');
    const fork: string = body.conversation_id;
    const source = await machine.events(id);
    const copied = (await machine.events(fork)).slice(0, lastOfFirst + 1);
    assert.deepEqual(copied, source.slice(0, lastOfFirst + 1));

    assert.equal(
      await shell(machine, fork, 2, 'cat a.txt; ls; test -e "$HOME/kept" || echo gone'),
      'one\na.txt\ngone\n',
    );
    const prompts = readFileSync(join((await filesOf(machine.storage, fork)).home, 'prompts.jsonl'), 'utf8');
    assert.match(prompts, /This is how the conversation went so far/);
    assert.match(prompts, /echo one/);
    assert.doesNotMatch(prompts, /echo two/);
    assert.equal(await shell(machine, id, 3, 'cat a.txt'), 'two\n');
  });

  it('starts with its message, and outlives the conversation that it was forked from', async (t) => {
    const cluster = await createCluster(t, { kind: 'sqlite' });
    const machine = await cluster.startMachine();
    const { id, lastOfFirst } = await converse(cluster, machine);
    const stopped = await forkOf(machine, id, { event_id: lastOfFirst });
    assert.equal(stopped.status, 200, stopped.text);
    await machine.service.ask(`/api/conversations/${id}`, { method: 'DELETE' });
    assert.equal(await shell(machine, stopped.body.conversation_id, 2, 'cat a.txt'), 'one\n');
    const again = await forkOf(machine, stopped.body.conversation_id, {
      event_id: lastOfFirst,
      files: 'none',
      message: 'really-run ls',
    });
    assert.equal(again.body.conversation_status, 'STARTING', again.text);
    await machine.turns(again.body.conversation_id, 2);
  });

  it('is refused if blobs of its files are missing', async (t) => {
    const cluster = await createCluster(t);
    const machine = await cluster.startMachine();
    const { id, lastOfFirst } = await converse(cluster, machine);
    const [row] = await inspect(
      machine.storage,
      'select snapshot_id, blob from snapshot_turns order by heard',
    );
    rmSync(join(cluster.store, String(row?.['snapshot_id']), String(row?.['blob'])));
    const { status, body } = await forkOf(machine, id, { event_id: lastOfFirst });
    assert.deepEqual([status, body.code], [409, 'snapshot_unusable']);
    assert.equal((await forkOf(machine, id, { event_id: lastOfFirst, files: 'latest' })).status, 200);
  });
});
