// Pods that killed workers have left, whatever they were doing: the sweep of another worker removes them, and no others.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openTestSandbox, runShell } from '../support/sandboxes.ts';
import { until } from '../support/until.ts';
import { crashSteps } from './crashSteps.ts';
import { createTestEngine } from './podEngine.ts';
import { createPods, skip } from './pods.ts';
import { cluster } from './setup.ts';

const crashMsMax = 60_000;
const hourMs = 3_600_000;
const pods = skip === false ? await createPods() : undefined;

/** Runs a worker until it kills itself at the step. */
async function crash(namespace: string, step: string): Promise<void> {
  const file = join(import.meta.dirname, 'crashingWorker.ts');
  const env = { ...process.env, KUBECONFIG: cluster().kubeconfig };
  const child = spawn(process.execPath, [file, namespace, step], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [, signal] = await once(child, 'exit');
  assert.equal(signal, 'SIGKILL', step);
}

describe('the pods of workers that were killed', { skip }, () => {
  it('are removed by another worker, whatever they were doing, and those of living workers are not', async (t) => {
    assert.ok(pods !== undefined);
    const { namespace } = pods;
    const own = await createTestEngine({ namespace, processId: 'survivor' });
    const other = await createTestEngine({ namespace, processId: 'other' });
    const open = [(await openTestSandbox(t, own)).open, (await openTestSandbox(t, other)).open];
    const names = async () => (await pods.list()).map(({ metadata }) => metadata.name);
    const living = await names();
    assert.equal(living.length, 2);
    // Two at a time, because each of them starts a process of Node and a pod.
    const left = [...crashSteps];
    const crashOneByOne = async () => {
      for (let step = left.shift(); step !== undefined; step = left.shift()) await crash(namespace, step);
    };
    await Promise.all([crashOneByOne(), crashOneByOne()]);
    // All but the one that was deleted.
    assert.ok((await names()).length - living.length >= crashSteps.length - 1);
    // Pods of the last minute may belong to workers that are not registered yet.
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + hourMs });
    await until(
      'none is left',
      async () => {
        await own.removeOrphans(new Set(['survivor', 'other']));
        return (await names()).every((name) => living.includes(name));
      },
      crashMsMax,
    );
    for (const sandbox of open) assert.equal((await runShell(sandbox, 'echo alive')).stdout, 'alive\n');
    t.mock.timers.reset();
    for (const sandbox of open) await sandbox.close();
    await pods.untilNone();
  });
});
