// What a cluster does to pods: their memory runs out, their node is short of memory, they are evicted, and their namespace
// is deleted. The conversation says why, nothing is stuck, and others go on.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Runs, startRuns } from '../support/runs.ts';
import { ending, errorsAndNotices, shell } from '../support/runTalk.ts';
import { createCluster as createMachines, makeFiles, showFiles, shownFiles } from '../support/snapshots.ts';
import { until } from '../support/until.ts';
import { createPods, skip } from './pods.ts';
import { cluster } from './setup.ts';

const minuteMs = 60_000;

const textOf = async (runs: Pick<Runs, 'events'>, id: string) =>
  errorsAndNotices(await runs.events(id)).join('\n');

/** Whoever stops is started again, as a user would do. */
async function startAgain(runs: Runs, id: string): Promise<void> {
  const { status } = await runs.info(id);
  if (status === 'STOPPED') await runs.start(id);
}

/** The smallest pod, with 512 MiB. */
const small = { remote_runtime_resource_factor: 0.125 };
/** Fills an array until it is killed. */
const eatMemory = `node -e "const all = []; for (;;) all.push(Buffer.alloc(2 ** 24, 1))"`;

describe('a pod whose memory is used up', { skip }, () => {
  it('goes on if a program was killed, which the agent sees', async (t) => {
    const pods = await createPods();
    const runs = await startRuns(pods.options({ settings: small }), t);
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    assert.match(await shell(runs, id, 2, `${eatMemory}; echo "ended with $?"`), /ended with 137\n/);
    assert.equal(await shell(runs, id, 3, 'echo goes on'), 'goes on\n');
    await runs.stop(id);
    await pods.untilNone();
  });

  it('ends the conversation with the reason if the whole pod was killed, and no other one', async (t) => {
    const pods = await createPods();
    const runs = await startRuns(pods.options({ settings: small }), t);
    const [id, other] = [await runs.create('hello'), await runs.create('hello')];
    await runs.turns(id, 1);
    await runs.turns(other, 1);
    // A program can make the kernel choose the supervisor.
    const choose = 'for at in $(pgrep -f supervisor.js); do echo 1000 >/proc/$at/oom_score_adj; done';
    await runs.say(id, `really-run ${choose}; ${eatMemory}`);
    const { code, message } = await ending(runs, id);
    assert.equal(code, 'no_sandbox');
    assert.match(message, /The pod of the conversation was lost: it exceeded its memory limit \(OOMKilled\)/);
    assert.equal(await shell(runs, other, 2, 'echo goes on'), 'goes on\n');
    // It can be used again.
    await runs.start(id);
    await runs.reaches(id, 'RUNNING');
    assert.equal(await shell(runs, id, 3, 'echo again'), 'again\n');
    await Promise.all([id, other].map(runs.stop));
    await pods.untilNone();
  });
});

describe('a pod that is evicted', { skip }, () => {
  it('is replaced, with the files of the last turn', async (t) => {
    const pods = await createPods();
    const machines = await createMachines(t, { kind: 'sqlite' });
    const machine = await machines.startMachine(pods.options());
    const id = await machines.createStored(machine, makeFiles);
    const [pod] = await pods.list();
    const { name = '' } = pod?.metadata ?? {};
    // As `kubectl drain` does it.
    await cluster().api.create(`/api/v1/namespaces/${pods.namespace}/pods/${name}/eviction`, {
      apiVersion: 'policy/v1beta1',
      kind: 'Eviction',
      metadata: { name },
    });
    assert.equal(await shell(machine, id, 2, showFiles), shownFiles);
    assert.match(await textOf(machine, id), /was lost: it was deleted.*continues in a new one/);
    await machine.stop(id);
    await pods.untilNone();
  });

  it('because its node is short of memory says so, and can be used again afterwards', async (t) => {
    const pods = await createPods();
    const machines = await createMachines(t, { kind: 'sqlite' });
    const machine = await machines.startMachine(pods.options());
    const ids = [
      await machines.createStored(machine, makeFiles),
      await machines.createStored(machine, makeFiles),
    ];
    // The kubelet believes that memory is short: its threshold is more than the node has free.
    const file = join(cluster().folder, 'kubelet.yaml');
    const usual = readFileSync(file, 'utf8');
    const short = usual.replace('memory.available: 100Mi', 'memory.available: 99%');
    assert.notEqual(short, usual);
    const configure = (text: string) => {
      writeFileSync(file, `${text}evictionPressureTransitionPeriod: 1s\n`);
      cluster().killPart('kubelet');
    };
    const hasPressure = async () => {
      const conditions = await cluster().kubectl(['get', 'node', 'localhost', '--output=json']);
      return /"MemoryPressure"/.test(
        JSON.stringify(
          JSON.parse(conditions).status.conditions.filter(
            ({ type, status }: Record<string, string>) => type === 'MemoryPressure' && status === 'True',
          ),
        ),
      );
    };
    configure(short);
    try {
      await until('the node is short of memory', hasPressure, minuteMs);
      await until(
        'one of them was evicted',
        async () => {
          const texts = await Promise.all(ids.map((id) => textOf(machine, id)));
          return texts.some((text) => /Evicted: The node was low on resource: memory/.test(text));
        },
        2 * minuteMs,
      );
    } finally {
      configure(usual);
      await until('the node has enough memory', async () => !(await hasPressure()), 2 * minuteMs);
    }
    for (const id of ids) {
      await startAgain(machine, id);
      await machine.reaches(id, 'RUNNING');
      await machine.say(id, `really-run ${showFiles}`);
      await until(
        'it answers with the files of the first turn',
        async () => {
          await startAgain(machine, id);
          const ran = (await machine.events(id)).filter(({ observation }) => observation === 'run');
          return ran.at(-1)?.content === shownFiles;
        },
        minuteMs,
      );
    }
    await Promise.all(ids.map(machine.stop));
    await pods.untilNone();
  });
});

describe('conversations whose namespace is deleted', { skip }, () => {
  it('stop with the reason, and work again when it was created again', async (t) => {
    const pods = await createPods();
    const runs = await startRuns(pods.options(), t);
    const [idle, busy] = [await runs.create('hello'), await runs.create('hang')];
    await runs.turns(idle, 1);
    await runs.reaches(busy, 'RUNNING');
    await pods.kubectl('delete', 'namespace', pods.namespace, '--wait=true');
    for (const id of [idle, busy]) {
      const { code, message } = await ending(runs, id);
      assert.equal(code, 'no_sandbox');
      assert.match(message, new RegExp(`namespace.*${pods.namespace}`));
      assert.doesNotMatch(message, /permission/);
    }
    await pods.createNamespace();
    for (const id of [idle, busy]) {
      await runs.start(id);
      await runs.reaches(id, 'RUNNING');
      await runs.say(id, 'say here again');
      await until('it answers', async () => {
        const all = await runs.events(id);
        return all.some(({ source, args }) => source === 'agent' && args?.['content'] === 'here again');
      });
      await runs.stop(id);
    }
    await pods.untilNone();
  });
});
