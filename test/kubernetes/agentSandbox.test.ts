// The controller of agent-sandbox for tests, on the real API server: what it does is what Parley may rely on.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import {
  type Claim,
  findCondition,
  hashOf,
  keys,
  type Pod,
  pathsOf,
  type Sandbox,
} from '../support/agentSandbox/shapes.ts';
import { startAgentSandboxController } from '../support/agentSandboxController.ts';
import { until } from '../support/until.ts';
import { installAgentSandbox } from './agentSandbox/install.ts';
import { cluster, skip } from './setup.ts';

const minuteMs = 60_000;
const group = 'agents.x-k8s.io/v1beta1';
const extensions = `extensions.${group}`;

const podSpec = {
  restartPolicy: 'Never',
  terminationGracePeriodSeconds: 0,
  containers: [
    { name: 'main', image: 'localhost/pause:1', imagePullPolicy: 'Never', ports: [{ containerPort: 80 }] },
  ],
};
const podTemplate = { metadata: { labels: { app: 'trial', [keys.adoptable]: 'true' } }, spec: podSpec };

/** A namespace with a controller, which go with the test. */
async function open(t: TestContext) {
  const { api, createNamespace } = cluster();
  const namespace = `sandboxes-${randomBytes(3).toString('hex')}`;
  await createNamespace(namespace);
  const paths = pathsOf(namespace);
  // Pods of service accounts that do not exist yet are refused.
  await until('the default service account exists', async () => {
    const accounts = await api.list(`/api/v1/namespaces/${namespace}/serviceaccounts`);
    return accounts.length > 0;
  });
  const controller = startAgentSandboxController(api, namespace);
  t.after(async () => {
    await controller.stop();
    await api.remove(`/api/v1/namespaces/${namespace}`);
  });
  const create = (kind: string, name: string, spec: object) => {
    const plural = {
      Sandbox: 'sandboxes',
      SandboxClaim: 'claims',
      SandboxTemplate: 'templates',
      SandboxWarmPool: 'pools',
    };
    const path = paths[plural[kind as keyof typeof plural] as keyof typeof paths];
    return api.create(path, {
      apiVersion: kind === 'Sandbox' ? group : extensions,
      kind,
      metadata: { name },
      spec,
    });
  };
  const sandbox = (name: string) => api.find(`${paths.sandboxes}/${name}`) as Promise<Sandbox | undefined>;
  const claim = (name: string) => api.find(`${paths.claims}/${name}`) as Promise<Claim | undefined>;
  const pod = (name: string) => api.find(`${paths.pods}/${name}`) as Promise<Pod | undefined>;
  /** Waits until Ready has this reason. */
  const reaches = <One extends Sandbox | Claim>(find: () => Promise<One | undefined>, reason: string) =>
    until(
      `Ready is ${reason}`,
      async () => {
        const found = await find();
        return findCondition(found?.status?.conditions, 'Ready')?.reason === reason && found;
      },
      minuteMs,
    );
  const pool = async (replicas: number, more: object = {}) => {
    await create('SandboxTemplate', 'template', { podTemplate, ...more });
    await create('SandboxWarmPool', 'pool', { replicas, sandboxTemplateRef: { name: 'template' } });
  };
  const warm = async () => {
    const all = (await api.list(paths.sandboxes)) as Sandbox[];
    return all.filter(({ metadata }) => metadata.labels?.[keys.warmPool] === hashOf('pool'));
  };
  return { api, namespace, paths, create, sandbox, claim, pod, reaches, pool, warm };
}

describe('agent-sandbox in tests', { skip }, () => {
  before(installAgentSandbox);

  it('starts a pod for a Sandbox, and reports when it is ready', async (t) => {
    const { create, sandbox, pod, reaches, api, paths } = await open(t);
    await create('Sandbox', 'one', { podTemplate, service: true });
    const { status, metadata } = await reaches(() => sandbox('one'), 'DependenciesReady');
    assert.equal(metadata.annotations?.[keys.podName], 'one');
    assert.deepEqual(
      [status?.podIPs?.length, status?.nodeName, status?.service, status?.selector],
      [1, 'localhost', 'one', `${keys.nameHash}=${hashOf('one')}`],
    );
    const { labels, annotations } = (await pod('one'))?.metadata ?? {};
    assert.deepEqual(labels, { app: 'trial', [keys.nameHash]: hashOf('one') });
    assert.equal(annotations?.[keys.propagatedLabels], 'app');
    await api.remove(`${paths.sandboxes}/one`);
    await until('the pod goes with it', async () => (await pod('one')) === undefined, minuteMs);
  });

  it('suspends a Sandbox and starts a new pod when it is resumed, with the same volume', async (t) => {
    const { create, sandbox, pod, reaches, api, paths, namespace } = await open(t);
    const path = join(cluster().folder, namespace);
    mkdirSync(path);
    const claimSpec = {
      storageClassName: namespace,
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Mi' } },
    };
    await api.create('/api/v1/persistentvolumes', {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: namespace },
      spec: {
        capacity: { storage: '1Mi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: namespace,
        hostPath: { path },
      },
    });
    t.after(() => api.remove(`/api/v1/persistentvolumes/${namespace}`));
    const volumeClaimTemplates = [{ metadata: { name: 'files' }, spec: claimSpec }];
    await create('Sandbox', 'one', { podTemplate, volumeClaimTemplates });
    await reaches(() => sandbox('one'), 'DependenciesReady');
    const first = await pod('one');
    assert.ok(first?.spec?.volumes?.some(({ name }) => name === 'files'));
    const volume = await api.find(`${paths.volumeClaims}/files-one`);

    await api.patch(`${paths.sandboxes}/one`, { spec: { operatingMode: 'Suspended' } });
    const suspended = await until(
      'its pod is gone',
      async () => {
        const found = await sandbox('one');
        return findCondition(found?.status?.conditions, 'Suspended')?.status === 'True' && found;
      },
      minuteMs,
    );
    assert.equal(await pod('one'), undefined);
    assert.equal(findCondition(suspended?.status?.conditions, 'Ready')?.reason, 'SandboxSuspended');

    await api.patch(`${paths.sandboxes}/one`, { spec: { operatingMode: 'Running' } });
    await reaches(() => sandbox('one'), 'DependenciesReady');
    assert.notEqual((await pod('one'))?.metadata.uid, first?.metadata.uid);
    assert.equal((await api.find(`${paths.volumeClaims}/files-one`))?.metadata.uid, volume?.metadata.uid);
  });

  it('does not start a pod again that has ended', async (t) => {
    const { create, sandbox, reaches } = await open(t);
    const containers = [{ ...podSpec.containers[0], command: ['/bin/busybox', 'false'] }];
    await create('Sandbox', 'one', { podTemplate: { spec: { ...podSpec, containers } } });
    const { status } = await reaches(() => sandbox('one'), 'PodFailed');
    assert.equal(findCondition(status?.conditions, 'Finished')?.reason, 'PodFailed');
  });

  it('refuses a pod that belongs to nobody', async (t) => {
    const { create, sandbox, reaches, api, paths } = await open(t);
    await api.create(paths.pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'one' }, spec: podSpec });
    await create('Sandbox', 'one', { podTemplate });
    await reaches(() => sandbox('one'), 'ReconcilerError');
  });

  it('removes an expired Sandbox, or only its pod', async (t) => {
    const { create, sandbox, pod, reaches } = await open(t);
    const shutdownTime = new Date(Date.now() + 3_000).toISOString();
    await create('Sandbox', 'removed', { podTemplate, shutdownTime, shutdownPolicy: 'Delete' });
    await create('Sandbox', 'kept', { podTemplate, shutdownTime });
    await until('one is removed', async () => (await sandbox('removed')) === undefined, minuteMs);
    await reaches(() => sandbox('kept'), 'SandboxExpired');
    await until('its pod is gone', async () => (await pod('kept')) === undefined, minuteMs);
  });

  it('gives a claim a warm Sandbox, and fills the pool up again', async (t) => {
    const { create, claim, sandbox, pod, reaches, pool, warm } = await open(t);
    await pool(2);
    await until(
      'two are warm',
      async () => {
        const found = await warm();
        return found.length === 2 && found.every(({ status }) => status?.podIPs?.length);
      },
      minuteMs,
    );
    const before = (await warm()).map(({ metadata }) => metadata.name);
    await create('SandboxClaim', 'mine', {
      warmPoolRef: { name: 'pool' },
      additionalPodMetadata: { labels: { 'sandbox.users.io/conversation': 'c1' } },
    });
    const { status, metadata } = await reaches(() => claim('mine'), 'DependenciesReady');
    const name = status?.sandbox?.name ?? '';
    assert.ok(before.includes(name), 'the claim has a Sandbox of the pool');
    const taken = await sandbox(name);
    assert.equal(taken?.metadata.labels?.[keys.claimUid], metadata.uid);
    assert.equal(taken?.metadata.labels?.[keys.warmPool], undefined);
    await until(
      'its pod has the labels of the claim, and not those of the pool',
      async () => {
        const { labels = {} } = (await pod(name))?.metadata ?? {};
        return labels['sandbox.users.io/conversation'] === 'c1' && !(keys.warmPool in labels);
      },
      minuteMs,
    );
    await until('two are warm again', async () => (await warm()).length === 2, minuteMs);
  });

  it('gives no Sandbox to two claims', async (t) => {
    const { create, claim, reaches, pool, warm } = await open(t);
    await pool(2);
    await until(
      'two are warm',
      async () => {
        const found = await warm();
        return found.length === 2 && found.every(({ status }) => status?.podIPs?.length);
      },
      minuteMs,
    );
    const names = ['a', 'b', 'c'];
    await Promise.all(names.map((name) => create('SandboxClaim', name, { warmPoolRef: { name: 'pool' } })));
    const claims = await Promise.all(names.map((name) => reaches(() => claim(name), 'DependenciesReady')));
    assert.equal(new Set(claims.map(({ status }) => status?.sandbox?.name)).size, names.length);
  });

  it('creates a Sandbox for a claim if the pool is empty, and deletes it with the claim', async (t) => {
    const { create, claim, sandbox, reaches, pool, api, paths } = await open(t);
    await pool(0);
    await create('SandboxClaim', 'mine', { warmPoolRef: { name: 'pool' } });
    const { status } = await reaches(() => claim('mine'), 'DependenciesReady');
    assert.equal(status?.sandbox?.name, 'mine');
    const created = await sandbox('mine');
    assert.equal(created?.metadata.labels?.[keys.launchType], 'cold');
    assert.equal(created?.spec.podTemplate.spec['automountServiceAccountToken'], false);
    await api.remove(`${paths.claims}/mine`);
    await until('the Sandbox goes with it', async () => (await sandbox('mine')) === undefined, minuteMs);
  });

  it('says why a claim gets no Sandbox', async (t) => {
    const { create, claim, reaches, pool } = await open(t);
    await create('SandboxClaim', 'lost', { warmPoolRef: { name: 'none' } });
    await reaches(() => claim('lost'), 'WarmPoolNotFound');
    await pool(0);
    const env = [{ name: 'A', value: '' }];
    await create('SandboxClaim', 'rejected', { warmPoolRef: { name: 'pool' }, env });
    await reaches(() => claim('rejected'), 'EnvVarsInjectionRejected');
    await create('SandboxClaim', 'labelled', {
      warmPoolRef: { name: 'pool' },
      additionalPodMetadata: { labels: { 'example.com/conversation': 'c1' } },
    });
    await reaches(() => claim('labelled'), 'InvalidMetadata');
  });

  it('checks fields and sets defaults in the API server', async (t) => {
    const { create, sandbox, reaches } = await open(t);
    await assert.rejects(create('Sandbox', 'one', {}), { status: 422 });
    await assert.rejects(create('Sandbox', 'one', { podTemplate, operatingMode: 'Paused' }), { status: 422 });
    await assert.rejects(create('SandboxClaim', 'one', {}), { status: 422 });
    await create('Sandbox', 'one', { podTemplate });
    const { spec } = await reaches(() => sandbox('one'), 'DependenciesReady');
    assert.deepEqual([spec.operatingMode, spec.shutdownPolicy], ['Running', 'Retain']);
  });
});
