// Where pods come from, with an API server in memory. The tests are the controller of agent-sandbox.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createFakeClusterApi,
  type FakeClusterApi,
  type FakeObject,
} from '../../../test/support/fakeClusterApi.ts';
import { folderOf, podNameAnnotation } from './agentSandbox.ts';
import { createPodEngine } from './podEngine.ts';
import { createPodSources } from './podSources.ts';
import {
  conversationLabels,
  managedBy,
  type PodOptions,
  podOf,
  processLabel,
  warmPodSpec,
} from './podSpec.ts';
import { createPods } from './pods.ts';
import { probeAgentSandbox } from './probeAgentSandbox.ts';

const namespace = 'test';
const folders = {
  pods: `/api/v1/namespaces/${namespace}/pods`,
  sandboxes: folderOf('sandboxes', namespace),
  claims: folderOf('sandboxclaims', namespace),
  pools: folderOf('sandboxwarmpools', namespace),
  templates: folderOf('sandboxtemplates', namespace),
};
const podOptions: PodOptions = {
  namespace,
  image: 'agents:1',
  runtimeClass: undefined,
  processId: 'p1',
  filesBytesMax: 1_000_000,
};
const spec = {
  name: 'run',
  workspace: '/w',
  home: '/h',
  readable: [],
  resourceFactor: 1,
  image: null,
  conversation: { key: 1, userId: 1, id: 'c1' },
};
const running = { phase: 'Running', containerStatuses: [{ state: { running: {} } }] };
const ready = (status: string, reason: string, message = '') => ({
  conditions: [{ type: 'Ready', status, reason, message }],
});
const ownedBy = (uid = '') => [{ uid, controller: true }];

function open(use: { agentSandbox?: boolean; warmPool?: string }) {
  const api = createFakeClusterApi();
  const errors: string[] = [];
  const source = createPodSources({
    ...podOptions,
    api,
    pods: createPods(api, namespace),
    agentSandbox: use.agentSandbox === true,
    warmPool: use.warmPool,
    onBackgroundError: ({ message }) => void errors.push(message),
  });
  return { api, source, errors };
}

/** Creates the pod of a Sandbox, and reports it. */
function startSandbox(api: FakeClusterApi, path: string, podName: string, podSpec?: object): void {
  const { metadata, spec: wanted } = api.find(path) ?? {};
  const { podTemplate } = wanted as { podTemplate: FakeObject };
  api.put(`${folders.pods}/${podName}`, {
    metadata: { ...podTemplate.metadata, ownerReferences: ownedBy(metadata?.uid) },
    spec: podSpec ?? podTemplate.spec ?? {},
    status: running,
  });
  api.change(path, {
    metadata: { annotations: { [podNameAnnotation]: podName } },
    status: ready('True', 'DependenciesReady'),
  });
}

/** A Sandbox of the pool, which the controller gives to the claim. */
function give(api: FakeClusterApi, claim: string, podSpec: object = warmPodSpec(podOptions)): void {
  const path = `${folders.sandboxes}/pool-x1`;
  const podTemplate = { metadata: { labels: { ...managedBy } }, spec: podSpec };
  api.put(path, {
    metadata: { ownerReferences: ownedBy(api.find(claim)?.metadata.uid) },
    spec: { podTemplate },
  });
  startSandbox(api, path, 'pool-x1');
  api.change(claim, { status: { sandbox: { name: 'pool-x1' }, ...ready('True', 'DependenciesReady') } });
}

const isClaim = (path: string) => path.startsWith(folders.claims);
const isSandbox = (path: string) => path.startsWith(folders.sandboxes);
const inFolder = (api: FakeClusterApi, folder: string) =>
  api.paths().filter((path) => path.startsWith(`${folder}/`));

describe('a pod of a Sandbox', () => {
  it('has the specification of Parley, is waited for, and goes with the Sandbox', async () => {
    const { api, source } = open({ agentSandbox: true });
    api.onCreate = (path) => isSandbox(path) && startSandbox(api, path, 'other-name');
    const pod = await source.acquire('one', spec);
    assert.equal(pod.podName, 'other-name');
    const { metadata, spec: created } = api.find(`${folders.sandboxes}/one`) ?? {};
    assert.deepEqual(metadata?.labels, podOf('one', spec, podOptions).metadata.labels);
    const { podTemplate } = created as { podTemplate: FakeObject };
    assert.deepEqual(podTemplate.metadata.labels, metadata?.labels);
    assert.deepEqual(
      (await source.list({})).map(({ name }) => name),
      ['one'],
    );
    await pod.remove();
    assert.deepEqual(inFolder(api, folders.sandboxes), []);
    await pod.remove();
  });

  it('is refused with the reason of the controller, and nothing is left', async () => {
    const { api, source } = open({ agentSandbox: true });
    api.onCreate = (path) => api.change(path, { status: ready('False', 'SandboxExpired', 'too late') });
    await assert.rejects(
      source.acquire('one', spec),
      /the pod does not start: its Sandbox has expired \(SandboxExpired: too late\)/,
    );
    assert.deepEqual(api.paths(), []);
  });

  it('is not taken if it belongs to another Sandbox', async () => {
    const { api, source } = open({ agentSandbox: true });
    api.onCreate = (path) => {
      api.put(`${folders.pods}/foreign`, { metadata: { ownerReferences: ownedBy('x') }, status: running });
      api.change(path, { metadata: { annotations: { [podNameAnnotation]: 'foreign' } } });
    };
    await assert.rejects(source.acquire('one', spec), /the pod foreign does not belong to the Sandbox one/);
    assert.notEqual(api.find(`${folders.pods}/foreign`), undefined);
  });

  it('says that it was suspended or has expired, so that no other is created', async () => {
    const { api, source } = open({ agentSandbox: true });
    api.onCreate = (path) => isSandbox(path) && startSandbox(api, path, 'one');
    const { findEnd } = await source.acquire('one', spec);
    assert.equal(await findEnd?.(), undefined);
    api.change(`${folders.sandboxes}/one`, { spec: { operatingMode: 'Suspended' } });
    assert.equal(await findEnd?.(), 'its Sandbox was suspended');
    api.change(`${folders.sandboxes}/one`, {
      spec: { operatingMode: 'Running' },
      status: ready('False', 'SandboxExpired'),
    });
    assert.equal(await findEnd?.(), 'its Sandbox has expired');
    api.delete(`${folders.sandboxes}/one`);
    assert.equal(await findEnd?.(), undefined);
  });
});

describe('a pod of a warm pool', () => {
  it('is the one that the claim has got, and goes with the claim', async () => {
    const { api, source, errors } = open({ warmPool: 'pool' });
    api.onCreate = (path) => give(api, path);
    const pod = await source.acquire('one', spec);
    assert.equal(pod.podName, 'pool-x1');
    const [path = ''] = inFolder(api, folders.claims);
    const { metadata, spec: created } = api.find(path) ?? {};
    assert.equal(metadata?.labels?.[processLabel], 'p1');
    assert.deepEqual((created as { warmPoolRef: object }).warmPoolRef, { name: 'pool' });
    const [owner] = await source.list(conversationLabels(spec) ?? {});
    assert.equal(owner?.name, 'one');
    assert.equal(await owner?.findPod?.(), 'pool-x1');
    await pod.remove();
    assert.deepEqual(inFolder(api, folders.claims), []);
    assert.deepEqual(inFolder(api, folders.pods), []);
    assert.deepEqual(errors, []);
  });

  it('is not used for another image or size, or with a volume', async () => {
    const { api, source } = open({ agentSandbox: true, warmPool: 'pool' });
    api.onCreate = (path) => startSandbox(api, path, path.slice(path.lastIndexOf('/') + 1));
    await source.acquire('image', { ...spec, image: 'other:1' });
    await source.acquire('size', { ...spec, resourceFactor: 2 });
    await source.acquire('volume', spec, 'files-of-c1');
    assert.deepEqual(inFolder(api, folders.claims), []);
    assert.equal((await source.list({})).length, 3);
    assert.ok(JSON.stringify(api.find(`${folders.pods}/volume`)).includes('"claimName":"files-of-c1"'));
  });

  const refusals: Readonly<Record<string, readonly [(api: FakeClusterApi, path: string) => void, RegExp]>> = {
    'the pool does not exist': [
      (api, path) => api.change(path, { status: ready('False', 'WarmPoolNotFound', 'none') }),
      /the warm pool pool provides no pod: the pool does not exist \(WarmPoolNotFound: none\)/,
    ],
    'its template does not exist': [
      (api, path) => api.change(path, { status: ready('False', 'TemplateNotFound') }),
      /SandboxTemplate of the pool does not exist/,
    ],
    'its pods are not safe': [
      (api, path) => give(api, path, { ...warmPodSpec(podOptions), hostNetwork: true }),
      /the pods of the warm pool pool are not as Parley creates them: hostNetwork must not be set/,
    ],
    'its pods have the image of another version': [
      (api, path) => give(api, path, warmPodSpec({ ...podOptions, image: 'agents:0' })),
      /containers\[0\]\.image is "agents:0" instead of "agents:1"/,
    ],
  };
  for (const [name, [refuse, message]] of Object.entries(refusals))
    it(`is replaced by one of its own if ${name}, and the pool is left alone for a while`, async () => {
      const { api, source, errors } = open({ agentSandbox: true, warmPool: 'pool' });
      const claims: string[] = [];
      api.onCreate = (path) => {
        if (!isClaim(path)) return startSandbox(api, path, path.slice(path.lastIndexOf('/') + 1));
        claims.push(path);
        return refuse(api, path);
      };
      const pod = await source.acquire('one', spec);
      assert.equal(pod.podName, 'one');
      assert.equal(errors.length, 1);
      assert.match(errors[0] ?? '', message);
      assert.deepEqual(inFolder(api, folders.claims), []);
      assert.equal(api.find(`${folders.pods}/pool-x1`), undefined);
      await source.acquire('two', spec);
      assert.equal(claims.length, 1);
    });

  it('is not taken before the Sandbox belongs to the claim', async () => {
    const { api, source } = open({ warmPool: 'pool' });
    const late = Promise.withResolvers<void>();
    api.onCreate = (path) => {
      give(api, path);
      api.change(`${folders.sandboxes}/pool-x1`, { metadata: { ownerReferences: ownedBy('other') } });
      late.resolve();
    };
    const acquired = source.acquire('one', spec);
    await late.promise;
    const { uid } = api.find(inFolder(api, folders.claims)[0] ?? '')?.metadata ?? {};
    const first = await Promise.race([acquired, new Promise((resolve) => setImmediate(resolve, 'waits'))]);
    assert.equal(first, 'waits');
    api.change(`${folders.sandboxes}/pool-x1`, { metadata: { ownerReferences: ownedBy(uid) } });
    assert.equal((await acquired).podName, 'pool-x1');
  });
});

describe('what lost workers have left', () => {
  const old = new Date(Date.now() - 3_600_000).toISOString();
  const of = (process: string, creationTimestamp = old) => ({
    metadata: { creationTimestamp, labels: { ...managedBy, [processLabel]: process } },
  });

  it('is removed with its pods, whatever it is, and nothing else', async () => {
    const api = createFakeClusterApi();
    const engine = createPodEngine({
      ...podOptions,
      api,
      agentSandbox: true,
      warmPool: 'pool',
      volumes: undefined,
      onBackgroundError: (error) => assert.fail(error),
    });
    for (const folder of [folders.claims, folders.sandboxes, folders.pods]) {
      api.put(`${folder}/dead`, of('lost'));
      api.put(`${folder}/used`, of('living'));
      api.put(`${folder}/young`, of('lost', new Date().toISOString()));
      api.put(`${folder}/own`, of('p1'));
    }
    const warm = { labels: { ...managedBy }, creationTimestamp: old, ownerReferences: ownedBy('x') };
    api.put(`${folders.pods}/warm`, { metadata: warm });
    api.put(`${folders.pods}/given`, { metadata: warm });
    const annotations = { [podNameAnnotation]: 'given' };
    api.put(`${folders.sandboxes}/given`, { metadata: { annotations, creationTimestamp: old } });
    api.change(`${folders.claims}/dead`, { status: { sandbox: { name: 'given' } } });
    await engine.removeOrphans(new Set(['living', 'p1']));
    const left = (folder: string) => inFolder(api, folder).map((path) => path.slice(folder.length + 1));
    assert.deepEqual(left(folders.claims), ['used', 'young']);
    // What belongs to a claim goes with it.
    assert.deepEqual(left(folders.sandboxes), ['used', 'young', 'given']);
    assert.deepEqual(left(folders.pods), ['used', 'young', 'warm']);
  });
});

describe('the look for agent-sandbox at the start', () => {
  const access = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  interface Review {
    readonly spec: { readonly resourceAttributes: { readonly resource: string; readonly verb: string } };
  }

  function probe(installed: readonly string[], forbidden = '', fill?: (api: FakeClusterApi) => void) {
    const api = createFakeClusterApi();
    const resources = installed.map((name) => ({ name }));
    if (installed.includes('sandboxes')) api.answer('/apis/agents.x-k8s.io/v1beta1', () => ({ resources }));
    if (installed.includes('sandboxclaims'))
      api.answer('/apis/extensions.agents.x-k8s.io/v1beta1', () => ({ resources }));
    api.answer(access, (body) => {
      const { resource, verb } = (body as Review).spec.resourceAttributes;
      return { status: { allowed: `${verb} ${resource}` !== forbidden } };
    });
    fill?.(api);
    return (agentSandbox: 'auto' | 'on' | 'off', warmPool?: string) =>
      probeAgentSandbox(api, { ...podOptions, agentSandbox, warmPool });
  }
  const all = ['sandboxes', 'sandboxclaims'];

  it('uses Sandboxes where they are installed and permitted', async () => {
    assert.equal((await probe(all)('auto')).agentSandbox, true);
    assert.equal((await probe(all)('off')).agentSandbox, false);
    assert.deepEqual(await probe([])('auto'), { agentSandbox: false, warmPool: undefined });
    await assert.rejects(probe([])('on'), /agent-sandbox is not installed/);
  });

  it('names the right that is missing', async () => {
    const { agentSandbox, note } = await probe(all, 'watch sandboxes')('auto');
    assert.equal(agentSandbox, false);
    assert.match(
      note ?? '',
      /not used: this process may not watch sandboxes\.agents\.x-k8s\.io in the namespace/,
    );
    await assert.rejects(probe(all, 'watch sandboxes')('on'), /may not watch sandboxes/);
    await assert.rejects(probe(all, 'create sandboxclaims')('off', 'pool'), /may not create sandboxclaims/);
    await assert.rejects(
      probe(['sandboxes'])('auto', 'pool'),
      /extensions of agent-sandbox are not installed/,
    );
  });

  it('says why the pool cannot be used yet', async () => {
    const template = (podSpec: object) => (api: FakeClusterApi) => {
      api.put(`${folders.pools}/pool`, { spec: { sandboxTemplateRef: { name: 'agents' } } });
      const podTemplate = { metadata: { labels: { ...managedBy } }, spec: podSpec };
      api.put(`${folders.templates}/agents`, { spec: { podTemplate } });
    };
    const noteOf = async (fill?: (api: FakeClusterApi) => void) => {
      const { warmPool, note } = await probe(all, '', fill)('auto', 'pool');
      assert.equal(warmPool, 'pool');
      return note;
    };
    assert.equal(await noteOf(), 'The warm pool pool is not used yet: it does not exist.');
    assert.match(
      (await noteOf((api) =>
        api.put(`${folders.pools}/pool`, { spec: { sandboxTemplateRef: { name: 't' } } }),
      )) ?? '',
      /its SandboxTemplate t does not exist/,
    );
    assert.match((await noteOf(template({}))) ?? '', /not as Parley creates them: restartPolicy is missing/);
    assert.equal(await noteOf(template(warmPodSpec(podOptions))), undefined);
  });
});
