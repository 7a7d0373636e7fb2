// The chart in deploy/chart, rendered with many values, applied to a real API server, and what its Role allows.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { managedBy, warmPodSpec } from '../../src/sandbox/kubernetes/podSpec.ts';
import {
  chartFolder,
  findHelm,
  findMissingRenderer,
  type RenderedChart,
  renderChart,
  type Values,
} from '../support/chart.ts';
import { inFolder } from '../support/dockerImages.ts';
import {
  createKubernetesApi,
  type KubernetesError,
  type KubernetesObject,
} from '../support/kubernetesApi.ts';
import { installAgentSandbox } from './agentSandbox/install.ts';
import { cases, refusals, required, withWarmPool } from './chart/values.ts';
import { cluster, skip as noCluster } from './setup.ts';

const skip = noCluster || findMissingRenderer();
const helm = findHelm();
/** What Kubernetes 1.21 and later have. */
const policyV1 = 'policy/v1/PodDisruptionBudget';

const release = 'trial';
const render = (values: Values, namespace = 'trial', apiVersions: readonly string[] = []) =>
  renderChart({ values, release, namespace, apiVersions });

const named = ({ objects }: RenderedChart, kind: string, name = /./) =>
  objects.filter((object) => object.kind === kind && name.test(object.metadata.name));

/** A namespace of its own, which goes with the test. */
async function createNamespace(t: TestContext): Promise<string> {
  const name = `chart-${randomBytes(3).toString('hex')}`;
  await cluster().createNamespace(name);
  t.after(() => cluster().kubectl(['delete', 'namespace', name, '--wait=false']));
  return name;
}

/** Objects that name no namespace are in that of the release. */
const place = (objects: RenderedChart['objects'], namespace: string) =>
  objects.map(({ metadata, ...rest }) => ({
    ...rest,
    metadata: rest.kind === 'Namespace' ? metadata : { namespace, ...metadata },
  }));

const list = (objects: RenderedChart['objects'], namespace: string) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: place(objects, namespace) });

/** kubectl prints one after the other. */
const parseStream = (text: string): KubernetesObject[] =>
  JSON.parse(`[${text.trim().replaceAll(/^\}\n\{/gm, '},{')}]`);

describe('the chart', { skip }, () => {
  // Objects of kinds that the API server does not know would be refused.
  before(installAgentSandbox);

  for (const [name, values] of Object.entries(cases))
    it(`is accepted by the API server with ${name}`, async (t) => {
      const namespace = await createNamespace(t);
      const { objects } = await render(values, namespace);
      // A dry run needs the namespaces that objects are in.
      const others = new Set(objects.map(({ metadata }) => metadata.namespace ?? namespace));
      others.delete(namespace);
      for (const other of others) {
        await cluster().createNamespace(other);
        t.after(() => cluster().kubectl(['delete', 'namespace', other, '--wait=true']));
      }
      const args = ['apply', '--dry-run=server', '--output=name', '--filename=-'];
      const accepted = await cluster().kubectl(args, list(objects, namespace));
      assert.equal(accepted.trim().split('\n').length, objects.length);
    });

  for (const [name, [values, message]] of Object.entries(refusals))
    it(`refuses ${name}`, () => assert.rejects(render(values), message));

  it('has a template of warm pods that are those of Parley', async () => {
    const expected = { processId: '', namespace: 'trial', image: required.sandbox.image };
    const specOf = async (values: Values) => {
      const rendered = await render(values);
      const [template] = named(rendered, 'SandboxTemplate');
      const [pool] = named(rendered, 'SandboxWarmPool');
      assert.deepEqual(pool?.spec?.['sandboxTemplateRef'], { name: template?.metadata.name });
      assert.equal(template?.spec?.['networkPolicyManagement'], 'Unmanaged');
      const podTemplate = template.spec['podTemplate'] as { metadata: object; spec: object };
      assert.deepEqual(podTemplate.metadata, { labels: managedBy });
      const text = JSON.stringify(rendered.objects);
      assert.ok(text.includes(`"PARLEY_KUBERNETES_WARM_POOL","value":"${pool?.metadata.name}"`));
      return podTemplate.spec;
    };
    const plain = { ...expected, runtimeClass: undefined, filesBytesMax: 10_000_000_000 };
    assert.deepEqual(await specOf(withWarmPool), warmPodSpec(plain));
    const other = { ...expected, runtimeClass: 'gvisor', filesBytesMax: 2_500_000_000 };
    const values = cases['a warm pool beside plain pods, with another limit'] ?? {};
    assert.deepEqual(await specOf(values), warmPodSpec(other));
  });

  it('uses the API of the cluster for disruption budgets', async () => {
    const versions = async (apiVersions: readonly string[]) =>
      named(await render(required, 'trial', apiVersions), 'PodDisruptionBudget').map(
        ({ apiVersion }) => apiVersion,
      );
    assert.deepEqual(await versions([]), ['policy/v1beta1', 'policy/v1beta1']);
    assert.deepEqual(await versions([policyV1]), ['policy/v1', 'policy/v1']);
  });

  it('puts no secret into a manifest, but names of Secrets', async () => {
    const { objects } = await render(cases['everything that can be switched on'] ?? {});
    assert.deepEqual(
      objects.filter(({ kind }) => kind === 'Secret'),
      [],
    );
    const text = JSON.stringify(objects);
    for (const name of ['DATABASE_URL', 'PARLEY_SECRET_KEY', 'SESSION_API_KEY'])
      assert.match(text, new RegExp(`"name":"${name}","valueFrom":{"secretKeyRef"`));
  });

  it('renders the same as Helm', { skip: helm === undefined && 'Helm is not installed' }, async () => {
    const namespace = 'default';
    for (const [name, values] of Object.entries(cases)) {
      const { objects } = await render(values, namespace);
      const [program = '', ...words] = helm ?? [];
      const text = await inFolder(async (folder) => {
        const file = join(folder, 'values.json');
        writeFileSync(file, JSON.stringify(values));
        const args = ['template', release, chartFolder, `--namespace=${namespace}`, `--values=${file}`];
        return (await promisify(execFile)(program, [...words, ...args], { maxBuffer: 16_000_000 })).stdout;
      });
      const args = ['create', '--dry-run=client', '--validate=false', '--output=json', '--filename=-'];
      // Helm sorts objects and may know another policy API, both of which make no difference here.
      const parse = async (input: string) => {
        const all = parseStream(await cluster().kubectl(args, input));
        const texts = place(all, namespace).map((object) => JSON.stringify(object));
        return texts.map((text) => text.replace('policy/v1beta1', 'policy/v1')).sort();
      };
      assert.deepEqual(await parse(list(objects, namespace)), await parse(text), name);
    }
  });
});

/** What the service account of workers may do, and where. `other` is the namespace of Parley itself. */
const rights: readonly (readonly [
  verb: string,
  resource: string,
  where: 'own' | 'other',
  allowed: boolean,
])[] = [
  ...['create', 'get', 'list', 'watch', 'delete'].map((verb) => [verb, 'pods', 'own', true] as const),
  ...['create', 'get'].map((verb) => [verb, 'pods/attach', 'own', true] as const),
  ...['update', 'patch', 'deletecollection'].map((verb) => [verb, 'pods', 'own', false] as const),
  ...['pods/exec', 'pods/portforward', 'pods/ephemeralcontainers', 'pods/eviction', 'pods/proxy'].map(
    (resource) => ['create', resource, 'own', false] as const,
  ),
  ['get', 'pods/log', 'own', false],
  ...['secrets', 'configmaps', 'serviceaccounts', 'services', 'events', 'persistentvolumeclaims'].flatMap(
    (resource) => ['get', 'list', 'create'].map((verb) => [verb, resource, 'own', false] as const),
  ),
  ['create', 'serviceaccounts/token', 'own', false],
  ...['deployments.apps', 'jobs.batch', 'networkpolicies.networking.k8s.io'].map(
    (resource) => ['delete', resource, 'own', false] as const,
  ),
  ...['roles.rbac.authorization.k8s.io', 'rolebindings.rbac.authorization.k8s.io'].flatMap((resource) =>
    ['create', 'patch', 'bind', 'escalate'].map((verb) => [verb, resource, 'own', false] as const),
  ),
  ...['sandboxes.agents.x-k8s.io', 'sandboxclaims.extensions.agents.x-k8s.io'].map(
    (resource) => ['create', resource, 'own', false] as const,
  ),
  ...['create', 'get', 'list', 'delete'].map((verb) => [verb, 'pods', 'other', false] as const),
  ['get', 'secrets', 'other', false],
  ['get', 'nodes', 'own', false],
  ['get', 'namespaces', 'own', false],
  ['impersonate', 'users', 'own', false],
];

const reviews = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

describe('the service account of workers', { skip }, () => {
  /** Installs the Role of the chart, and returns how to ask what it allows. */
  async function install(t: TestContext, sandbox: Values = {}) {
    const [namespace, own] = [await createNamespace(t), await createNamespace(t)];
    const values = { ...required, sandbox: { ...required.sandbox, namespace: own, ...sandbox } };
    const rendered = await render(values, namespace);
    const objects = ['ServiceAccount', 'Role', 'RoleBinding', 'NetworkPolicy'].flatMap((kind) =>
      named(rendered, kind),
    );
    await cluster().kubectl(['apply', '--filename=-'], list(objects, namespace));
    const account = `system:serviceaccount:${namespace}:${release}-parley-worker`;
    const where = { own, other: namespace };
    /** The resource is written as in a Role: pods/attach, deployments.apps. */
    const can = async (verb: string, name: string, place: 'own' | 'other') => {
      const [, resource = '', group = '', subresource = ''] =
        /^([^./]+)(?:\.([^/]+))?(?:\/(.+))?$/.exec(name) ?? [];
      const { status } = await cluster().api.create<{ allowed: boolean }>(reviews, {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: account,
          groups: ['system:serviceaccounts', 'system:authenticated'],
          resourceAttributes: { namespace: where[place], verb, group, resource, subresource },
        },
      });
      return status?.allowed;
    };
    return { namespace, own, can };
  }

  it('may manage and attach to pods of conversations, and nothing else', async (t) => {
    const { can } = await install(t);
    for (const [verb, resource, where, allowed] of rights)
      assert.equal(await can(verb, resource, where), allowed, `${verb} ${resource} (${where})`);
  });

  it('may manage volumes of conversations, if they have any', async (t) => {
    const { can } = await install(t, { volumes: { size: '1Gi' } });
    const verbs = { create: true, get: true, list: true, delete: true, patch: false, update: false };
    for (const [verb, allowed] of Object.entries(verbs))
      assert.equal(await can(verb, 'persistentvolumeclaims', 'own'), allowed, verb);
    assert.equal(await can('get', 'persistentvolumeclaims', 'other'), false);
    assert.equal(await can('get', 'persistentvolumes', 'own'), false);
  });

  it('may claim pods of the warm pool, and create Sandboxes instead of pods', async (t) => {
    const claims = 'sandboxclaims.extensions.agents.x-k8s.io';
    const own = ['create', 'get', 'list', 'watch', 'delete'];
    const foreign = ['update', 'patch', 'deletecollection'];
    const check = async (sandbox: Values, expected: Readonly<Record<string, readonly string[]>>) => {
      const { can } = await install(t, sandbox);
      for (const [resource, verbs] of Object.entries(expected))
        for (const verb of [...own, ...foreign])
          assert.equal(await can(verb, resource, 'own'), verbs.includes(verb), `${verb} ${resource}`);
    };
    const warmPool = { replicas: 1 };
    const sandboxes = 'sandboxes.agents.x-k8s.io';
    // Templates and pools can only be read by their name.
    const others = {
      'sandboxwarmpools.extensions.agents.x-k8s.io': [],
      'sandboxtemplates.extensions.agents.x-k8s.io': [],
    };
    await check({ warmPool }, { ...others, pods: own, [sandboxes]: ['get', 'watch'], [claims]: own });
    const withoutCreate = own.filter((verb) => verb !== 'create');
    await check(
      { warmPool, agentSandbox: true },
      { ...others, pods: withoutCreate, [sandboxes]: own, [claims]: own },
    );
    await check({ agentSandbox: true }, { ...others, pods: withoutCreate, [sandboxes]: own, [claims]: [] });
  });

  it('is refused with a message that names the right, when it reads a Secret', async (t) => {
    const { namespace } = await install(t);
    const credentials = await cluster().credentialsOf(namespace, `${release}-parley-worker`);
    const api = createKubernetesApi(credentials);
    t.after(() => api.close());
    await assert.rejects(api.list(`/api/v1/namespaces/${namespace}/secrets`), (error: KubernetesError) => {
      assert.equal(error.status, 403);
      assert.match(error.message, /cannot list resource "secrets"/);
      return true;
    });
  });
});
