// Workers that are killed while they have conversations in pods.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { mainFile } from '../support/program.ts';
import { errorsAndNotices, shell } from '../support/runTalk.ts';
import { makeFiles, showFiles, shownFiles, snapshotNotices } from '../support/snapshots.ts';
import { until } from '../support/until.ts';
import { createWorkerSite, type WorkerService } from '../support/workers.ts';
import { createPods, skip } from './pods.ts';
import { cluster } from './setup.ts';

const takeoverMs = 60_000;
const pods = skip === false ? await createPods() : undefined;
const podNames = async () => ((await pods?.list()) ?? []).map(({ metadata }) => metadata.name);

/** Starts workers with the usual leases: supervisors notice sooner than these expire that a worker is gone. */
async function createWorkers(t: TestContext, hasSnapshots: boolean) {
  const { site, serve } = await createWorkerSite('postgres', t, mainFile);
  const options = pods?.options({ env: { KUBECONFIG: cluster().kubeconfig } });
  const store = hasSnapshots ? { PARLEY_SNAPSHOTS: site.createDir() } : {};
  const env = { ...options?.env, ...store, PARLEY_SANDBOX: 'kubernetes' };
  const start = () => serve(env);
  const first = await start();
  await first.set({ agent: 'fake' });
  return { first, start };
}

/** Waits until another worker has taken the conversation. */
async function continued(worker: WorkerService, id: string, runsBefore: number): Promise<void> {
  const isContinued = async () => {
    const { status, stop_reason: reason } = await worker.info(id);
    if (status === 'STOPPED') throw new Error(`it stopped: ${JSON.stringify(reason)}`);
    const ran = (await worker.events(id)).filter(({ observation }) => observation === 'run');
    return ran.length > runsBefore;
  };
  await until('it goes on', isContinued, takeoverMs);
}

describe('a worker that is killed', { skip }, () => {
  it('leaves a pod in which another goes on, with the files as they were and no program of the first', async (t) => {
    const { first, start } = await createWorkers(t, false);
    const id = await first.create(`really-run ${makeFiles}`);
    await first.turns(id, 1);
    await shell(first, id, 2, '(setsid sleep 54321 >/dev/null 2>&1 &); echo more >>a.txt');
    const before = await podNames();
    first.send('SIGKILL');
    const second = await start();
    await second.say(id, `really-run ${showFiles}; pgrep -f "sleep 5432[1]"`);
    await continued(second, id, 2);
    const ran = (await second.events(id)).filter(({ observation }) => observation === 'run');
    assert.equal(ran.at(-1)?.content, shownFiles.replace('one\n', 'one\nmore\n').replace('A  a', 'AM a'));
    assert.deepEqual(await podNames(), before);
    assert.doesNotMatch(errorsAndNotices(await second.events(id)).join(), /lost|gone/);
    await second.stop(id);
    await second.reaches(id, 'STOPPED');
    await pods?.untilNone();
  });

  it('leaves a pod that is replaced if it is not what the next run needs, with the files of the last turn', async (t) => {
    const { first, start } = await createWorkers(t, true);
    const id = await first.create(`really-run ${makeFiles}`);
    await first.turns(id, 1);
    // A turn begins when the copy after the last one is made.
    await shell(first, id, 2, 'true');
    const [before] = await podNames();
    await first.set({ remote_runtime_resource_factor: 2 });
    first.send('SIGKILL');
    const second = await start();
    await second.say(id, `really-run ${showFiles}`);
    await continued(second, id, 2);
    const ran = (await second.events(id)).filter(({ observation }) => observation === 'run');
    assert.equal(ran.at(-1)?.content, shownFiles);
    assert.ok(!(await podNames()).includes(before ?? ''));
    assert.deepEqual(snapshotNotices(await second.events(id)), ['SNAPSHOT_RESTORED']);
    await second.stop(id);
    await second.reaches(id, 'STOPPED');
    await pods?.untilNone();
  });
});
