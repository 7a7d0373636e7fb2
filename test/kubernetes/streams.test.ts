// Conversations whose connections to the API server break, on a real cluster.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type CutProxy, startCutProxy } from '../support/cutProxy.ts';
import { type Runs, startRuns } from '../support/runs.ts';
import { errorsAndNotices, shell } from '../support/runTalk.ts';
import { temporaryFolder } from '../support/sandboxes.ts';
import { createCluster, makeFiles, showFiles, shownFiles } from '../support/snapshots.ts';
import { until } from '../support/until.ts';
import { uploadFiles } from '../support/uploads.ts';
import { createPods, skip } from './pods.ts';
import { cluster } from './setup.ts';

const minuteMs = 60_000;
const pods = skip === false ? await createPods() : undefined;
const podNames = async () => ((await pods?.list()) ?? []).map(({ metadata }) => metadata.name);

/** Prints numbered lines until the user stops it with a file, and notes how far it is. */
const count =
  'i=0; while [ ! -e stop ]; do i=$((i+1)); echo "line $i"; echo $i >reached; sleep 0.05; done; echo "the end"';

/** What starts from now on reaches the API server through the proxy. */
async function useProxy(t: TestContext): Promise<CutProxy> {
  const text = readFileSync(cluster().kubeconfig, 'utf8');
  const [server = ''] = /https:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
  const proxy = await startCutProxy(server, t);
  const kubeconfig = join(temporaryFolder(t), 'kubeconfig');
  writeFileSync(kubeconfig, text.replace(server, proxy.url.replace('http:', 'https:')), { mode: 0o600 });
  const before = process.env['KUBECONFIG'];
  process.env['KUBECONFIG'] = kubeconfig;
  t.after(() => {
    process.env['KUBECONFIG'] = before;
  });
  return proxy;
}

async function reached({ service }: Runs, id: string): Promise<number> {
  const { body } = await service.ask(`/api/conversations/${id}/select-file?file=reached`);
  return Number(body.code ?? 0);
}

/** Waits until it prints more, which must come from its pod. */
async function untilMore(runs: Runs, id: string): Promise<void> {
  const before = await reached(runs, id);
  await until('there are more lines', async () => (await reached(runs, id)) > before, minuteMs);
}

const hasLost = async ({ events }: Runs, id: string) =>
  /was lost/.test(errorsAndNotices(await events(id)).join('\n'));

/** Ends the counting, and checks that each line came once and in order. */
async function checkLines(runs: Runs, id: string): Promise<void> {
  assert.equal((await uploadFiles(runs.service, id, [['stop', 'now']])).status, 200);
  await runs.turns(id, 2);
  const ran = (await runs.events(id)).filter(({ observation }) => observation === 'run');
  const lines = String(ran.at(-1)?.content).split('\n').slice(0, -1);
  const wanted = Array.from({ length: lines.length - 1 }, (_, n) => `line ${n + 1}`);
  assert.deepEqual(lines, [...wanted, 'the end']);
  assert.equal(await hasLost(runs, id), false);
}

describe('a conversation in a pod whose connections break', { skip }, () => {
  it('goes on in the same pod, and its output has neither gaps nor duplicates', async (t) => {
    const proxy = await useProxy(t);
    const runs = await startRuns(pods?.options() ?? {}, t);
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    const before = await podNames();
    await runs.say(id, `really-run ${count}`);
    for (let cuts = 0; cuts < 5; cuts++) {
      await untilMore(runs, id);
      const made = proxy.made();
      proxy.cut();
      await until('it is attached again', () => proxy.made() > made);
    }
    await untilMore(runs, id);
    assert.deepEqual(await podNames(), before);
    await checkLines(runs, id);
    await runs.stop(id);
    await pods?.untilNone();
  });

  it('begins anew with its files if the API server stays away for longer than the pod waits', async (t) => {
    const proxy = await useProxy(t);
    const machines = await createCluster(t, { kind: 'sqlite' });
    const machine = await machines.startMachine(pods?.options());
    const id = await machines.createStored(machine, makeFiles);
    proxy.refuse(true);
    proxy.cut();
    await until('the pod is given up', () => hasLost(machine, id), minuteMs);
    proxy.refuse(false);
    assert.equal(await shell(machine, id, 2, showFiles), shownFiles);
    // It may be the old one, if that still waits for a worker to take over.
    assert.equal((await podNames()).length, 1);
    await machine.stop(id);
    await pods?.untilNone();
  });

  it('survives kill -9 of the API server, in the same pod if that is back in time', async (t) => {
    const runs = await startRuns(pods?.options() ?? {}, t);
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    const before = await podNames();
    await runs.say(id, `really-run ${count}`);
    await untilMore(runs, id);
    cluster().killPart('kube-apiserver');
    const isReady = async () => (await pods?.kubectl('get', '--raw', '/readyz').catch(() => '')) === 'ok';
    await until('the API server is back', isReady, 2 * minuteMs);
    const last = await reached(runs, id);
    const isAlive = async () => (await reached(runs, id)) > last;
    await until(
      'it goes on or begins anew',
      async () => (await hasLost(runs, id)) || (await isAlive()),
      minuteMs,
    );
    if (await hasLost(runs, id)) {
      // The message may be given to the agent again.
      await uploadFiles(runs.service, id, [['stop', 'now']]);
      await runs.say(id, 'say after all');
      const said = async () =>
        (await runs.events(id)).some(({ source, message }) => source === 'agent' && message === 'after all');
      await until('it answers', said, 2 * minuteMs);
      assert.equal((await podNames()).length, 1);
    } else {
      assert.deepEqual(await podNames(), before);
      await checkLines(runs, id);
    }
    await runs.stop(id);
    await runs.reaches(id, 'STOPPED');
    await pods?.untilNone();
  });
});
