import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  conversationLabels,
  isDefault,
  labelOf,
  newPodName,
  type PodOptions,
  podOf,
  warmPodSpec,
} from './podSpec.ts';
import { endOf, hasExceeded, type Pod, startFault, waitsFor } from './podStatus.ts';
import { firstWaitMs } from './protocol.ts';

const spec = {
  name: 'Run_7',
  workspace: '/data/workspace',
  home: '/data/home',
  readable: [],
  resourceFactor: 2,
  image: null,
  conversation: { key: 3, userId: 7, id: 'a/b with spaces'.repeat(10) },
};
const options: PodOptions = {
  namespace: 'parley',
  image: 'agents:1',
  runtimeClass: 'gvisor',
  processId: 'p1',
  filesBytesMax: 1_000_000,
};

describe('the specification of a pod', () => {
  it('has names and labels that Kubernetes accepts, whatever the id of the conversation is', () => {
    assert.match(newPodName(spec), /^parley-run-7-[0-9a-f]{6}$/);
    assert.equal(labelOf('plain-id_1.0'), 'plain-id_1.0');
    for (const value of Object.values(conversationLabels(spec) ?? {}))
      assert.match(value, /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/);
    assert.notEqual(labelOf('a b'), labelOf('a c'));
  });

  it('gives the agent no rights', () => {
    const { spec: pod } = podOf('x', spec, options);
    const [container] = pod.containers;
    assert.equal(pod.automountServiceAccountToken, false);
    assert.equal(pod.enableServiceLinks, false);
    assert.equal(pod.restartPolicy, 'Never');
    assert.equal(pod.runtimeClassName, 'gvisor');
    assert.deepEqual(pod.securityContext.seccompProfile, { type: 'RuntimeDefault' });
    assert.equal(pod.securityContext.runAsNonRoot, true);
    assert.deepEqual(container?.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    assert.equal(container?.resources.limits.memory, String(8 * 1_024 ** 3));
    assert.equal(container?.image, 'agents:1');
  });
});

describe('the specification of a pod that is created in advance', () => {
  const envOf = (pod: object) => {
    const { containers } = pod as { containers: { env: { name: string; value: string }[] }[] };
    return Object.fromEntries(containers.flatMap(({ env }) => env.map(({ name, value }) => [name, value])));
  };

  it('is that of a pod with the default image and size, which waits for its worker', () => {
    const plain = podOf('x', { resourceFactor: 1, image: null }, options).spec;
    const warm = warmPodSpec(options);
    const withoutEnv = (pod: object) =>
      JSON.stringify(pod, (key, value) => (key === 'env' ? undefined : value));
    assert.equal(withoutEnv(warm), withoutEnv(plain));
    assert.equal(firstWaitMs(envOf(warm)), undefined);
    assert.equal(firstWaitMs(envOf(plain)), 60_000);
  });

  it('will do for these conversations alone', () => {
    const needs = { ...spec, resourceFactor: 1 };
    assert.ok(isDefault(needs, options));
    assert.ok(isDefault({ ...needs, image: options.image }, options));
    assert.ok(!isDefault({ ...needs, image: 'other:1' }, options));
    assert.ok(!isDefault({ ...needs, resourceFactor: 2 }, options));
  });
});

describe('the status of a pod', () => {
  const pod = (status: Pod['status']): Pod => ({ metadata: { name: 'x' }, ...(status && { status }) });

  it('says why it does not start, if waiting does not help', () => {
    const waiting = (reason: string) =>
      pod({ phase: 'Pending', containerStatuses: [{ state: { waiting: { reason, message: 'why.' } } }] });
    assert.equal(startFault(waiting('ErrImageNeverPull')), 'ErrImageNeverPull: why');
    assert.equal(startFault(waiting('ContainerCreating')), undefined);
    const conditions = [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' },
    ];
    assert.equal(
      waitsFor(pod({ phase: 'Pending', conditions })),
      'it cannot be scheduled: Unschedulable: 0/1 nodes',
    );
  });

  it('says whether its programs have used too much', () => {
    const terminated = { reason: 'OOMKilled', exitCode: 137 };
    const killed = pod({ phase: 'Failed', containerStatuses: [{ state: { terminated } }] });
    assert.ok(hasExceeded(killed));
    assert.match(endOf(killed), /memory limit/);
    const evicted = pod({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'Usage of a volume exceeds the limit',
    });
    assert.ok(hasExceeded(evicted));
    assert.equal(endOf(evicted), 'Evicted: Usage of a volume exceeds the limit');
    const full = { ...evicted.status, message: 'Usage of EmptyDir volume "files" exceeds the limit "1". ' };
    assert.ok(hasExceeded(pod(full)));
    assert.match(endOf(pod(full)), /^its workspace and home folder exceed PARLEY_WORKSPACE_MB/);
    const short = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' };
    assert.ok(!hasExceeded(pod(short)));
    assert.ok(!hasExceeded(pod({ phase: 'Running' })));
  });
});
