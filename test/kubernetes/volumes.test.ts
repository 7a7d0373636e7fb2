// Conversations whose files are on volumes of the cluster.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { Pod } from '../../src/sandbox/kubernetes/podStatus.ts';
import { inspect } from '../support/inspect.ts';
import { type Runs, type RunsOptions, startRuns } from '../support/runs.ts';
import { ending, errorsAndNotices, shell } from '../support/runTalk.ts';
import { createCluster, makeFiles, showFiles, shownFiles, snapshotNotices } from '../support/snapshots.ts';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';
import { createPods, skip } from './pods.ts';
import { cluster } from './setup.ts';

const volumesMax = 8;
const goneMs = 30_000;
const takeoverMs = 60_000;
const pods = skip === false ? await createPods() : undefined;
const storageClass = `local-${randomBytes(3).toString('hex')}`;
const env = { PARLEY_KUBERNETES_VOLUMES: '100Mi', PARLEY_KUBERNETES_STORAGE_CLASS: storageClass };
const onVolumes = (more: Partial<RunsOptions> = {}) =>
  pods?.options({ ...more, env: { ...env, ...more.env } }) ?? {};
const kubectl = async (...args: readonly string[]) => (await pods?.kubectl(...args)) ?? '';

interface Claim {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly volumeName?: string };
}

const listClaims = async () => JSON.parse(await kubectl('get', 'pvc', '--output=json')).items as Claim[];

/** The cluster has no provisioner, so volumes are there before. */
async function createLocalVolumes(): Promise<void> {
  const folder = join(cluster().folder, storageClass);
  const className = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: storageClass },
  };
  const binding = { provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer' };
  const node = { key: 'kubernetes.io/hostname', operator: 'In', values: ['localhost'] };
  const volumes = Array.from({ length: volumesMax }, (_, n) => {
    const path = join(folder, String(n));
    mkdirSync(path, { recursive: true });
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `${storageClass}-${n}` },
      spec: {
        capacity: { storage: '100Mi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: storageClass,
        local: { path },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [node] }] } },
      },
    };
  });
  const items = [{ ...className, ...binding }, ...volumes];
  await cluster().kubectl(
    ['create', '--filename=-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  );
}

/** Deletes a stopped conversation, which deletes its volume. */
async function remove(runs: Runs, id: string): Promise<void> {
  const { status } = await runs.service.ask(`/api/conversations/${id}`, { method: 'DELETE' });
  assert.equal(status, 200);
}

async function stop(runs: Pick<Runs, 'stop' | 'reaches'>, id: string): Promise<void> {
  await runs.stop(id);
  await runs.reaches(id, 'STOPPED');
  const isOwn = ({ metadata }: Pod) => metadata.labels?.['parley.dev/conversation'] === id;
  await until('its pod is gone', async () => !(await pods?.list())?.some(isOwn), goneMs);
}

describe('the volume of a conversation', { skip }, () => {
  before(createLocalVolumes);

  it('has its files and session when it is started again, and goes when it is deleted', async (t) => {
    const runs = await startRuns(onVolumes({ times: { worker: { retentionMs: 300 } } }), t);
    const id = await runs.create(`really-run ${makeFiles}`);
    await runs.turns(id, 1);
    const other = await runs.create('another one');
    await runs.turns(other, 1);
    const before = await listClaims();
    assert.equal(before.length, 2);
    await stop(runs, id);
    await runs.start(id);
    await runs.reaches(id, 'RUNNING');
    assert.equal(await shell(runs, id, 2, showFiles), shownFiles);
    assert.deepEqual(
      errorsAndNotices(await runs.events(id)).filter((text) => /lost|gone|new/.test(text)),
      [],
    );
    await runs.stop(other);
    await runs.reaches(other, 'STOPPED');
    await stop(runs, id);
    assert.deepEqual(
      (await listClaims()).map(({ metadata }) => metadata.uid).sort(),
      before.map(({ metadata }) => metadata.uid).sort(),
    );
    await remove(runs, id);
    await until('its volume is gone', async () => (await listClaims()).length === 1, goneMs);
    // The one that is left belongs to the other conversation.
    await runs.start(other);
    await runs.reaches(other, 'RUNNING');
    assert.equal((await listClaims()).length, 1);
    await stop(runs, other);
    await remove(runs, other);
    await until('no volume is left', async () => (await listClaims()).length === 0, goneMs);
  });

  it('is emptied and filled from the snapshot if the last run did not use it', async (t) => {
    const services = await createCluster(t, { kind: 'sqlite' });
    const machine = await services.startMachine(onVolumes());
    const lock = 'mkdir -p locked/in; echo x >locked/in/x; chmod 500 locked/in; ln -s /etc out';
    const id = await services.createStored(machine, `${makeFiles}; ${lock}`);
    await stop(machine, id);
    assert.deepEqual(snapshotNotices(await machine.events(id)), []);
    await inspect(machine.storage, 'update conversations set workspace_volume = null');
    await machine.start(id);
    await machine.reaches(id, 'RUNNING');
    assert.equal(
      await shell(machine, id, 2, 'cat a.txt locked/in/x "$HOME/kept"; readlink out'),
      'one\nx\nkept\n/etc\n',
    );
    assert.deepEqual(snapshotNotices(await machine.events(id)), ['SNAPSHOT_RESTORED']);
    await stop(machine, id);
    // Now it has the files again.
    await machine.start(id);
    await machine.reaches(id, 'RUNNING');
    assert.equal(await shell(machine, id, 3, 'cat a.txt'), 'one\n');
    assert.deepEqual(snapshotNotices(await machine.events(id)), ['SNAPSHOT_RESTORED']);
    await stop(machine, id);
    await kubectl('delete', 'pvc', '--all');
  });

  it('is replaced if it was deleted, and the log says that files are lost', async (t) => {
    const runs = await startRuns(onVolumes(), t);
    const id = await runs.create(`really-run ${makeFiles}`);
    await runs.turns(id, 1);
    await stop(runs, id);
    await kubectl('delete', 'pvc', '--all');
    await runs.start(id);
    await runs.reaches(id, 'RUNNING');
    assert.equal(await shell(runs, id, 2, 'ls'), '');
    assert.match(errorsAndNotices(await runs.events(id)).join(), /The volume of this conversation is gone/);
    await stop(runs, id);
    await kubectl('delete', 'pvc', '--all');
  });

  it('is used by the worker that continues after another was killed, with the files as they were', async (t) => {
    assert.ok(pods !== undefined);
    const { serve } = await createWorkerSite('postgres', t);
    const { env: podEnv = {} } = onVolumes({ env: { KUBECONFIG: cluster().kubeconfig } });
    const shared = { ...podEnv, PARLEY_SANDBOX: 'kubernetes' };
    const first = await serve(shared);
    await first.set({ agent: 'fake' });
    const id = await first.create(`really-run ${makeFiles}`);
    await first.turns(id, 1);
    const [volume] = await listClaims();
    first.send('SIGKILL');
    const second = await serve(shared);
    await second.say(id, `really-run ${showFiles}`);
    const shown = await until(
      'the next turn has ended',
      async () => {
        const { status, stop_reason: reason } = await second.info(id);
        if (status === 'STOPPED') throw new Error(`it stopped: ${JSON.stringify(reason)}`);
        const ran = (await second.events(id)).filter(({ observation }) => observation === 'run');
        return ran.length > 1 && ran.at(-1)?.content;
      },
      takeoverMs,
    );
    assert.equal(shown, shownFiles);
    const [after] = await listClaims();
    assert.equal(after?.metadata.uid, volume?.metadata.uid);
    await stop(second, id);
    await kubectl('delete', 'pvc', '--all');
  });

  it('is refused by a quota, and the conversation stops with that reason', async (t) => {
    await kubectl('create', 'quota', 'none', '--hard=persistentvolumeclaims=0');
    t.after(() => kubectl('delete', 'quota', 'none'));
    // Before, requests are refused because the usage is not known.
    await until('its usage is known', async () =>
      (await kubectl('get', 'quota', 'none', '--output=jsonpath={.status.used}')).includes('0'),
    );
    const runs = await startRuns(onVolumes(), t);
    const { code, message } = await ending(runs, await runs.create('hello'));
    assert.equal(code, 'no_sandbox');
    assert.match(message, /persistentvolumeclaims .* exceeded quota: none/);
    assert.doesNotMatch(message, /permission/);
    await pods?.untilNone();
  });
});
