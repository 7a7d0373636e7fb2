// What the cluster refuses to a worker: rights that its service account lacks, and pods beyond a quota. The reason is for
// people, and names what is missing.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { probeCluster } from '../../src/sandbox/kubernetes/probeCluster.ts';
import { mib } from '../../src/validation/schema.ts';
import { agentImage } from '../support/kubernetesImages.ts';
import { startRuns } from '../support/runs.ts';
import { ending } from '../support/runTalk.ts';
import { temporaryFolder } from '../support/sandboxes.ts';
import { until } from '../support/until.ts';
import { createPods, skip, type TestPods, writeKubeconfig } from './pods.ts';
import { cluster } from './setup.ts';

type Right = readonly [verb: string, resource: string];

const rights: readonly Right[] = [
  ...['create', 'get', 'list', 'watch', 'delete'].map((verb) => [verb, 'pods'] as const),
  ['get', 'pods/attach'],
];

/** A service account with these rights, whose kubeconfig this process uses until the test ends. */
async function useAccount(t: TestContext, { namespace, kubectl }: TestPods, given: readonly Right[]) {
  const name = `account-${randomBytes(3).toString('hex')}`;
  const credentials = await cluster().createAccount(namespace, name);
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  await cluster().api.create(`${rbac}/roles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name },
    rules: given.map(([verb, resource]) => ({ apiGroups: [''], resources: [resource], verbs: [verb] })),
  });
  const bind = () =>
    kubectl('create', 'rolebinding', name, `--role=${name}`, `--serviceaccount=${namespace}:${name}`);
  const release = () => kubectl('delete', 'rolebinding', name);
  const can = async ([verb, resource]: Right) => {
    const [kind = '', subresource] = resource.split('/');
    const args = ['auth', 'can-i', verb, kind, `--as=system:serviceaccount:${namespace}:${name}`];
    if (subresource !== undefined) args.push(`--subresource=${subresource}`);
    // It ends with 1 if the answer is no.
    return (await kubectl(...args).catch(({ stdout }: { stdout: string }) => stdout)).trim() === 'yes';
  };
  /** The API server learns of changes a moment later. */
  const untilCan = (right: Right, wanted: boolean) =>
    until(`${right.join(' ')} is ${wanted}`, async () => (await can(right)) === wanted);
  await bind();
  for (const right of given) await untilCan(right, true);
  const before = process.env['KUBECONFIG'];
  process.env['KUBECONFIG'] = writeKubeconfig(temporaryFolder(t), credentials);
  t.after(() => {
    process.env['KUBECONFIG'] = before;
  });
  return { bind, release, untilCan };
}

describe('a service account', { skip }, () => {
  for (const missing of rights)
    it(`that may not ${missing.join(' ')} cannot be used, and the reason names that`, async (t) => {
      const pods = await createPods();
      const given = rights.filter((right) => right !== missing);
      await useAccount(t, pods, given);
      const probed = await probeCluster({
        image: agentImage,
        namespace: pods.namespace,
        runtimeClass: undefined,
        agentSandbox: 'off',
        warmPool: undefined,
        processId: 'tests',
        filesBytesMax: 1_024 * mib,
        onBackgroundError: (error) => {
          throw error;
        },
      });
      assert.ok('fault' in probed);
      const right = `may not ${missing.join(' ')} in the namespace ${pods.namespace}`;
      assert.ok(probed.fault.includes(right), probed.fault);
    });

  it('that loses its rights while the service runs ends new conversations with the reason', async (t) => {
    const pods = await createPods();
    const account = await useAccount(t, pods, rights);
    const runs = await startRuns(pods.options(), t);
    const first = await runs.create('say hello');
    assert.deepEqual(await runs.turns(first, 1), ['hello']);
    await runs.stop(first);
    await pods.untilNone();
    await account.release();
    await account.untilCan(['list', 'pods'], false);
    await account.untilCan(['create', 'pods'], false);
    const second = await runs.create('say hello');
    const { code, message } = await ending(runs, second);
    assert.equal(code, 'no_sandbox');
    assert.match(message, /this process lacks a permission in the cluster: .*cannot list resource "pods"/);
    await account.bind();
    for (const right of rights) await account.untilCan(right, true);
    await runs.start(second);
    assert.deepEqual(await runs.turns(second, 1), ['hello']);
    await runs.stop(second);
    await pods.untilNone();
  });
});

describe('a namespace whose quota is used up', { skip }, () => {
  it('ends a new conversation with the reason, and no other one', async (t) => {
    const pods = await createPods();
    await pods.kubectl('create', 'quota', 'few', '--hard=pods=1');
    await until('the quota is known', async () =>
      (await pods.kubectl('get', 'quota', 'few', '--output=jsonpath={.status.hard}')).includes('pods'),
    );
    const runs = await startRuns(pods.options(), t);
    const first = await runs.create('say hello');
    await runs.turns(first, 1);
    const { code, message } = await ending(runs, await runs.create('say hello'));
    assert.equal(code, 'no_sandbox');
    assert.match(message, /exceeded quota: few/);
    assert.doesNotMatch(message, /permission/);
    await runs.say(first, 'say again');
    assert.deepEqual((await runs.turns(first, 2)).at(-1), 'again');
    await runs.stop(first);
    await pods.untilNone();
  });
});
