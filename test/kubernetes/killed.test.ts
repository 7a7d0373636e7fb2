// Workers that are killed while they have conversations in pods.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shell } from '../support/runTalk.ts';
import { makeFiles, showFiles, shownFiles } from '../support/snapshots.ts';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';
import { createPods, skip } from './pods.ts';
import { cluster } from './setup.ts';

const takeoverMs = 30_000;
const pods = skip === false ? await createPods() : undefined;

describe('a worker that is killed', { skip }, () => {
  it('leaves a pod that is removed by the worker that continues, with the files of the last turn', async (t) => {
    assert.ok(pods !== undefined);
    const { site, serve } = await createWorkerSite('postgres', t);
    const { env = {} } = pods.options({ env: { KUBECONFIG: cluster().kubeconfig } });
    const shared = { ...env, PARLEY_SANDBOX: 'kubernetes', PARLEY_SNAPSHOTS: site.createDir() };
    const first = await serve(shared);
    await first.set({ agent: 'fake' });
    const id = await first.create(`really-run ${makeFiles}`);
    await first.turns(id, 1);
    // A turn begins when the copy after the last one is made.
    await shell(first, id, 2, 'true');
    const [before] = await pods.list();
    first.send('SIGKILL');
    const second = await serve(shared);
    const isOther = async () => {
      const { status, stop_reason: reason } = await second.info(id);
      if (status === 'STOPPED') throw new Error(`it stopped: ${JSON.stringify(reason)}`);
      const names = (await pods.list()).map(({ metadata }) => metadata.name);
      return names.length === 1 && names[0] !== before?.metadata.name;
    };
    await until('another pod has replaced it', isOther, takeoverMs);
    assert.equal(await shell(second, id, 3, showFiles), shownFiles);
    await second.stop(id);
    await second.reaches(id, 'STOPPED');
    await pods.untilNone();
  });
});
