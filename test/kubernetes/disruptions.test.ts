// What a cluster does to pods: their memory runs out, their node is short of memory, and their namespace is deleted. The
// conversation says why, nothing is stuck, and others go on.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Pod } from '../../src/sandbox/kubernetes/podStatus.ts';
import { mib } from '../../src/validation/schema.ts';
import { type Runs, startRuns } from '../support/runs.ts';
import { ending, shell } from '../support/runTalk.ts';
import { createCluster as createMachines, makeFiles, showFiles, shownFiles } from '../support/snapshots.ts';
import { until } from '../support/until.ts';
import { createPods, skip } from './pods.ts';
import { cluster } from './setup.ts';

const minuteMs = 60_000;

/** Sends a message, and waits for its answer. */
async function untilAnswers(runs: Runs, id: string): Promise<void> {
  await runs.reaches(id, 'RUNNING');
  await runs.say(id, 'say here again');
  await until(
    'it answers',
    async () => {
      const all = await runs.events(id);
      return all.some(({ source, args }) => source === 'agent' && args?.['content'] === 'here again');
    },
    minuteMs,
  );
}

/** What keeps new pods away from the node. */
async function taintsOf(): Promise<string[]> {
  const node = await cluster().kubectl(['get', 'node', 'localhost', '--output=json']);
  const { taints = [] }: { taints?: { key: string }[] } = JSON.parse(node).spec;
  return taints.map(({ key }) => key);
}

const smallBytes = 256 * mib;
/** Fills an array until it is killed. */
const eatMemory = `node -e "const all = []; for (;;) all.push(Buffer.alloc(2 ** 24, 1))"`;

/** Lowers the memory limit of a pod from outside, because the smallest one that users can choose is 4 GiB. */
function lowerMemory({ metadata: { uid = '' } }: Pod): void {
  const found = new Set<string>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
      const isAgent = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('supervisor.js');
      if (!isAgent || !groups.includes(`pod${uid}`)) continue;
      const [, first] = /^\d+:memory:(.+)$/m.exec(groups) ?? [];
      const [, second] = /^0::(.+)$/m.exec(groups) ?? [];
      if (first !== undefined) found.add(`/sys/fs/cgroup/memory${first}/memory.limit_in_bytes`);
      else found.add(`/sys/fs/cgroup${second}/memory.max`);
    } catch {
      // The process has ended.
    }
  }
  assert.equal(found.size, 1);
  for (const file of found) writeFileSync(file, String(smallBytes));
}

describe('a pod whose memory is used up', { skip }, () => {
  it('goes on if a program was killed, which the agent sees', async (t) => {
    const pods = await createPods();
    const runs = await startRuns(pods.options(), t);
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    (await pods.list()).forEach(lowerMemory);
    assert.match(await shell(runs, id, 2, `${eatMemory}; echo "ended with $?"`), /ended with 137\n/);
    assert.equal(await shell(runs, id, 3, 'echo goes on'), 'goes on\n');
    await runs.stop(id);
    await pods.untilNone();
  });

  it('ends the conversation with the reason if the whole pod was killed, and no other one', async (t) => {
    const pods = await createPods();
    const runs = await startRuns(pods.options(), t);
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    (await pods.list()).forEach(lowerMemory);
    const other = await runs.create('hello');
    await runs.turns(other, 1);
    // The kernel kills the largest process. The supervisor is the next one here.
    await runs.say(id, `really-run ${eatMemory}; kill -9 $(pgrep -f supervisor.js)`);
    const { code, message } = await ending(runs, id);
    assert.equal(code, 'no_sandbox');
    assert.match(message, /The pod of the conversation was lost: it exceeded its memory limit \(OOMKilled\)/);
    assert.equal(await shell(runs, other, 2, 'echo goes on'), 'goes on\n');
    await runs.start(id);
    await untilAnswers(runs, id);
    await Promise.all([id, other].map(runs.stop));
    await pods.untilNone();
  });
});

describe('a node that is short of memory', { skip }, () => {
  it('gets no new pods: the conversation stops with the reason, and works again afterwards', async (t) => {
    const pods = await createPods();
    const machines = await createMachines(t, { kind: 'sqlite' });
    const machine = await machines.startMachine(pods.options());
    const id = await machines.createStored(machine, makeFiles);
    await machine.stop(id);
    await machine.reaches(id, 'STOPPED');
    // The kubelet believes that memory is short: its threshold is more than the node has free.
    const file = join(cluster().folder, 'kubelet.yaml');
    const usual = readFileSync(file, 'utf8');
    const short = usual.replace('memory.available: 100Mi', 'memory.available: 99%');
    assert.notEqual(short, usual);
    const configure = async (text: string, taints: string) => {
      writeFileSync(file, `${text}evictionPressureTransitionPeriod: 1s\n`);
      cluster().killPart('kubelet');
      await until('the node says so', async () => (await taintsOf()).join() === taints, 2 * minuteMs);
    };
    await configure(short, 'node.kubernetes.io/memory-pressure');
    try {
      await machine.start(id);
      const { stop_reason: reason } = await until(
        'it stops',
        async () => {
          const found = await machine.info(id);
          return found.status === 'STOPPED' && found;
        },
        2 * minuteMs,
      );
      assert.equal(reason?.code, 'no_sandbox');
      assert.match(reason?.message ?? '', /it cannot be scheduled: Unschedulable: .*memory-pressure/);
    } finally {
      await configure(usual, '');
    }
    await machine.start(id);
    await machine.reaches(id, 'RUNNING');
    assert.equal(await shell(machine, id, 2, showFiles), shownFiles);
    await machine.stop(id);
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
      await untilAnswers(runs, id);
      await runs.stop(id);
    }
    await pods.untilNone();
  });
});
