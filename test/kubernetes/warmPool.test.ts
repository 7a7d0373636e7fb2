// Conversations in pods of agent-sandbox, on a real cluster with the controller of the tests.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { managedBy, warmPodSpec } from '../../src/sandbox/kubernetes/podSpec.ts';
import {
  type Claim,
  findCondition,
  hashOf,
  keys,
  pathsOf,
  type Sandbox,
} from '../support/agentSandbox/shapes.ts';
import { startAgentSandboxController } from '../support/agentSandboxController.ts';
import { findMissingRenderer, renderChart } from '../support/chart.ts';
import { agentImage } from '../support/kubernetesImages.ts';
import { type RunsOptions, startRuns } from '../support/runs.ts';
import { ending, shell } from '../support/runTalk.ts';
import { temporaryFolder } from '../support/sandboxes.ts';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';
import { installAgentSandbox } from './agentSandbox/install.ts';
import { createPods, skip, writeKubeconfig } from './pods.ts';
import { cluster } from './setup.ts';

const minuteMs = 60_000;
const extensions = 'extensions.agents.x-k8s.io/v1beta1';
const poolName = 'agents';
/** The default of PARLEY_WORKSPACE_MB. */
const filesBytesMax = 10_000_000_000;

/** The pool of a release that is called "trial". */
const chartPool = 'trial-parley-conversations';

function writeObjects(t: TestContext, items: readonly object[]): string {
  const file = join(temporaryFolder(t), 'objects.json');
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  return file;
}

/** A namespace with a controller. */
async function openNamespace(t: TestContext, pool = poolName) {
  const pods = await createPods();
  const { namespace } = pods;
  const { api } = cluster();
  const paths = pathsOf(namespace);
  const controller = startAgentSandboxController(api, namespace);
  t.after(async () => {
    await controller.stop();
    await api.remove(`/api/v1/namespaces/${namespace}`);
  });
  const sandboxes = async () => (await api.list(paths.sandboxes)) as Sandbox[];
  const claims = async () => (await api.list(paths.claims)) as Claim[];
  const isWarm = ({ metadata }: Sandbox) => metadata.labels?.[keys.warmPool] === hashOf(pool);
  const warm = async () => (await sandboxes()).filter(isWarm);
  const create = (path: string, kind: string, name: string, spec: object) =>
    api.create(path, { apiVersion: extensions, kind, metadata: { name }, spec });
  /** Creates the pool and waits until its pods are ready. Returns their names. */
  const createPool = async (replicas: number, change: (spec: object) => object = (spec) => spec) => {
    const options = { namespace, image: agentImage, runtimeClass: undefined, processId: '', filesBytesMax };
    const podTemplate = { metadata: { labels: managedBy }, spec: change(warmPodSpec(options)) };
    const networkPolicyManagement = 'Unmanaged';
    await create(paths.templates, 'SandboxTemplate', 'template', { podTemplate, networkPolicyManagement });
    const sandboxTemplateRef = { name: 'template' };
    await create(paths.pools, 'SandboxWarmPool', poolName, { replicas, sandboxTemplateRef });
    return untilWarm(replicas);
  };
  const untilWarm = async (replicas: number) => {
    const isReady = ({ status }: Sandbox) => findCondition(status?.conditions, 'Ready')?.status === 'True';
    const ready = await until(
      `${replicas} pods are warm`,
      async () => {
        const found = await warm();
        return found.length === replicas && found.every(isReady) && found;
      },
      minuteMs,
    );
    return (ready || []).map(({ metadata }) => metadata.name);
  };
  /** Waits until there is nothing but the pods of the pool. */
  const untilUnused = () =>
    until(
      'nothing is left of the conversation',
      async () => {
        const [all, left, claimed] = await Promise.all([sandboxes(), pods.list(), claims()]);
        const names = new Set(all.map(({ metadata }) => metadata.name));
        return (
          claimed.length === 0 && all.every(isWarm) && left.every(({ metadata }) => names.has(metadata.name))
        );
      },
      minuteMs,
    );
  const withPool = (more: Partial<RunsOptions> = {}) =>
    pods.options({
      ...more,
      env: {
        PARLEY_KUBERNETES_AGENT_SANDBOX: 'on',
        PARLEY_KUBERNETES_WARM_POOL: poolName,
        ...more.env,
      },
    });
  return { pods, paths, sandboxes, claims, createPool, untilWarm, untilUnused, withPool };
}

describe('a conversation with a warm pool', { skip }, () => {
  before(installAgentSandbox);

  it('takes a pod that runs already, and the pool is filled up again', async (t) => {
    const { createPool, claims, untilWarm, untilUnused, withPool, pods } = await openNamespace(t);
    const [name = ''] = await createPool(1);
    const before = (await pods.list()).find(({ metadata }) => metadata.name === name);
    const runs = await startRuns(withPool(), t);
    const id = await runs.create('hello there');
    assert.deepEqual(await runs.turns(id, 1), ['You said: hello there']);
    assert.equal(await shell(runs, id, 2, 'pwd; id -u; hostname'), '/workspace\n1000\nparley\n');
    const [claim] = await claims();
    assert.equal(claim?.metadata.labels?.['parley.dev/conversation'], id);
    assert.equal(claim?.status?.sandbox?.name, name);
    const used = (await pods.list()).find(({ metadata }) => metadata.name === name);
    assert.equal(used?.metadata.uid, before?.metadata.uid);
    assert.notDeepEqual(await untilWarm(1), [name]);
    assert.ok(runs.service.logs().includes(`Pods are taken from the warm pool ${poolName}.`));
    await runs.stop(id);
    await runs.reaches(id, 'STOPPED');
    await untilUnused();
  });

  it('needs no more than the chart installs', { skip: findMissingRenderer() }, async (t) => {
    const { pods, paths, claims, untilWarm, untilUnused, withPool } = await openNamespace(t, chartPool);
    const { namespace } = pods;
    const { objects } = await renderChart({
      values: {
        image: { repository: 'unused' },
        secret: { name: 'unused' },
        sandbox: { image: agentImage, agentSandbox: true, warmPool: { replicas: 1 } },
      },
      release: 'trial',
      namespace,
    });
    const kinds = ['ServiceAccount', 'Role', 'RoleBinding', 'SandboxTemplate', 'SandboxWarmPool'];
    const items = objects.filter(({ kind }) => kinds.includes(kind));
    assert.equal(items.length, kinds.length);
    await pods.kubectl('apply', `--filename=${writeObjects(t, items)}`);
    const [name] = await untilWarm(1);
    const account = await cluster().credentialsOf(namespace, 'trial-parley-worker');
    const administrator = process.env['KUBECONFIG'];
    process.env['KUBECONFIG'] = writeKubeconfig(temporaryFolder(t), account);
    t.after(() => {
      process.env['KUBECONFIG'] = administrator;
    });
    const env = { PARLEY_KUBERNETES_WARM_POOL: chartPool };
    const runs = await startRuns(withPool({ env }), t);
    const id = await runs.create('hello');
    assert.deepEqual(await runs.turns(id, 1), ['You said: hello']);
    const logs = runs.service.logs();
    assert.ok(logs.includes(`Pods are taken from the warm pool ${chartPool}.`));
    assert.ok(!logs.includes('is not used'));
    assert.equal((await claims())[0]?.status?.sandbox?.name, name);
    assert.equal((await cluster().api.find(`${paths.sandboxes}/${name}`))?.metadata.name, name);
    await runs.stop(id);
    await untilUnused();
  });

  it('gets a pod of its own for another size, beside the pool', async (t) => {
    const { createPool, claims, sandboxes, untilUnused, withPool, pods } = await openNamespace(t);
    const [name] = await createPool(1);
    const runs = await startRuns(withPool({ settings: { remote_runtime_resource_factor: 2 } }), t);
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    assert.deepEqual(await claims(), []);
    const own = (await sandboxes()).filter(({ metadata }) => metadata.name !== name);
    assert.equal(own[0]?.metadata.labels?.['parley.dev/conversation'], id);
    assert.deepEqual(new Set((await pods.list()).map(({ metadata }) => metadata.name)).size, 2);
    await runs.stop(id);
    await untilUnused();
  });

  it('gets a pod of its own if the pool does not exist, and the log says so', async (t) => {
    const { claims, sandboxes, untilUnused, withPool } = await openNamespace(t);
    const runs = await startRuns(withPool(), t);
    const id = await runs.create('hello');
    assert.deepEqual(await runs.turns(id, 1), ['You said: hello']);
    assert.ok(runs.service.logs().includes(`The warm pool ${poolName} is not used yet: it does not exist.`));
    assert.match(runs.service.logs(), /provides no pod: the pool does not exist/);
    assert.deepEqual(await claims(), []);
    assert.equal((await sandboxes()).length, 1);
    await runs.stop(id);
    await untilUnused();
  });

  it('sends nothing to a pod that is less safe than one of its own', async (t) => {
    const { createPool, claims, untilUnused, withPool, pods } = await openNamespace(t);
    const folder = join(cluster().folder, pods.namespace);
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    // Whatever it is sent stays after the pod.
    await createPool(1, (spec) => {
      const { containers, volumes, ...rest } = spec as { containers: object[]; volumes: object[] };
      return {
        ...rest,
        volumes: [...volumes, { name: 'host', hostPath: { path: folder } }],
        containers: containers.map((one) => ({
          ...one,
          command: ['/bin/sh', '-c', 'cat >/host/received'],
          volumeMounts: [
            ...(one as { volumeMounts: object[] }).volumeMounts,
            { name: 'host', mountPath: '/host' },
          ],
        })),
      };
    });
    const received = join(folder, 'received');
    await until('the pod of the pool reads', () => existsSync(received), minuteMs);
    const runs = await startRuns(withPool(), t);
    const unsafe = /not as Parley creates them: .*volumes\[3\] must not be set/;
    const id = await runs.create('hello');
    assert.deepEqual(await runs.turns(id, 1), ['You said: hello']);
    assert.match(runs.service.logs(), unsafe);
    assert.match(runs.service.logs(), /the pods of the warm pool agents are not as Parley creates them/);
    assert.deepEqual(await claims(), []);
    assert.equal(readFileSync(received, 'utf8'), '');
    await runs.stop(id);
    await untilUnused();
  });

  it('leaves nothing when its worker is killed and another one continues', async (t) => {
    const { createPool, claims, untilUnused, withPool } = await openNamespace(t);
    await createPool(1);
    const { site, serve } = await createWorkerSite('postgres', t);
    const { env = {} } = withPool({ env: { KUBECONFIG: cluster().kubeconfig } });
    const shared = { ...env, PARLEY_SANDBOX: 'kubernetes', PARLEY_SNAPSHOTS: site.createDir() };
    const first = await serve(shared);
    await first.set({ agent: 'fake' });
    const id = await first.create('hello');
    await first.turns(id, 1);
    const [before] = await claims();
    assert.ok(before !== undefined);
    first.send('SIGKILL');
    const second = await serve(shared);
    await until(
      'another claim has replaced it',
      async () => {
        const names = (await claims()).map(({ metadata }) => metadata.name);
        return names.length === 1 && names[0] !== before.metadata.name;
      },
      minuteMs,
    );
    assert.equal(await shell(second, id, 2, 'echo again'), 'again\n');
    await second.stop(id);
    await second.reaches(id, 'STOPPED');
    await untilUnused();
  });
});

describe('a conversation in a Sandbox', { skip }, () => {
  before(installAgentSandbox);

  it('runs in the pod of the Sandbox, which goes when it stops', async (t) => {
    const { pods, sandboxes, untilUnused } = await openNamespace(t);
    const env = { PARLEY_KUBERNETES_AGENT_SANDBOX: 'auto' };
    const runs = await startRuns(pods.options({ env }), t);
    const id = await runs.create('hello there');
    assert.deepEqual(await runs.turns(id, 1), ['You said: hello there']);
    const [sandbox] = await sandboxes();
    const [pod] = await pods.list();
    assert.equal(sandbox?.metadata.labels?.['parley.dev/conversation'], id);
    assert.equal(pod?.metadata.labels?.['parley.dev/conversation'], id);
    assert.equal(pod?.metadata.name, sandbox?.metadata.name);
    await runs.stop(id);
    await runs.reaches(id, 'STOPPED');
    await untilUnused();
  });

  it('stops when an operator suspends the Sandbox, with that reason, and can be resumed', async (t) => {
    const { pods, paths, sandboxes, untilUnused } = await openNamespace(t);
    const env = { PARLEY_KUBERNETES_AGENT_SANDBOX: 'on' };
    const runs = await startRuns(pods.options({ env }), t);
    const id = await runs.create('hello');
    await runs.turns(id, 1);
    const [sandbox] = await sandboxes();
    await cluster().api.patch(`${paths.sandboxes}/${sandbox?.metadata.name}`, {
      spec: { operatingMode: 'Suspended' },
    });
    const { code, message } = await ending(runs, id);
    assert.equal(code, 'no_sandbox');
    assert.match(message, /The pod of the conversation was lost: its Sandbox was suspended/);
    await untilUnused();
    await runs.start(id);
    await runs.reaches(id, 'RUNNING');
    assert.equal(await shell(runs, id, 2, 'echo again'), 'again\n');
    await runs.stop(id);
    await untilUnused();
  });
});
