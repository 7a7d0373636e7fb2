import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findDifference, parseQuantity } from './podCheck.ts';
import { managedBy, type PodOptions, warmPodSpec } from './podSpec.ts';

const options: PodOptions = {
  namespace: 'parley',
  image: 'agents:1',
  runtimeClass: 'gvisor',
  processId: 'p1',
  filesBytesMax: 10_000_000_000,
};
const wanted = warmPodSpec(options);

interface Spec {
  [field: string]: unknown;
  containers: Record<string, unknown>[];
  volumes: Record<string, unknown>[];
}

/** What is different after a change of the specification. */
function check(change: (spec: Spec, container: Record<string, unknown>) => void, metadata: object = {}) {
  const spec = structuredClone(wanted) as Spec;
  change(spec, spec.containers[0] ?? {});
  return findDifference(wanted, { metadata: { labels: { ...managedBy }, ...metadata }, spec });
}

describe('the check of a pod that others have specified', () => {
  it('accepts what the API server and the scheduler set, and quantities in other units', () => {
    assert.equal(
      check((spec, container) => {
        Object.assign(spec, { nodeName: 'n', schedulerName: 'default-scheduler', dnsPolicy: 'None' });
        Object.assign(spec, { serviceAccountName: 'default', hostNetwork: false, tolerations: [{}] });
        container['terminationMessagePath'] = '/dev/termination-log';
        const resources = { requests: { cpu: '2' }, limits: { memory: '4Gi', cpu: '2000m' } };
        const { limits } = container['resources'] as { limits: Record<string, string> };
        container['resources'] = { ...resources, limits: { ...limits, ...resources.limits } };
        spec.volumes[1] = { name: 'temporary', emptyDir: { sizeLimit: '1Gi' } };
        Object.assign(container['securityContext'] as object, { procMount: 'Default' });
      }),
      undefined,
    );
  });

  const faults: Readonly<
    Record<string, readonly [(spec: Spec, container: Record<string, unknown>) => void, RegExp]>
  > = {
    'a network of the host': [
      (spec) => Object.assign(spec, { hostNetwork: true }),
      /^hostNetwork must not be set$/,
    ],
    'processes of the host': [(spec) => Object.assign(spec, { hostPID: true }), /hostPID/],
    'a token': [
      (spec) => Object.assign(spec, { automountServiceAccountToken: true }),
      /automountServiceAccountToken is true instead of false/,
    ],
    'a token by default': [
      (spec) => Reflect.deleteProperty(spec, 'automountServiceAccountToken'),
      /automountServiceAccountToken is missing/,
    ],
    root: [
      (spec) => Object.assign(spec, { securityContext: { runAsUser: 0 } }),
      /securityContext\.runAsUser is 0/,
    ],
    'no seccomp filter': [
      (spec) => Object.assign(spec['securityContext'] as object, { seccompProfile: { type: 'Unconfined' } }),
      /seccompProfile\.type is "Unconfined"/,
    ],
    'another runtime': [
      (spec) => Reflect.deleteProperty(spec, 'runtimeClassName'),
      /runtimeClassName is missing/,
    ],
    'a folder of the host': [
      (spec) => void spec.volumes.push({ name: 'x', hostPath: { path: '/' } }),
      /volumes\[3\] must not be set/,
    ],
    'a folder of the host instead of another volume': [
      (spec) => Object.assign(spec.volumes, [{ name: 'files', hostPath: { path: '/' } }]),
      /volumes\[0\]\.(emptyDir is missing|hostPath must not be set)/,
    ],
    'another container': [
      (spec) => void spec.containers.push({ name: 'sidecar' }),
      /containers\[1\] must not be set/,
    ],
    'an init container': [
      (spec) => Object.assign(spec, { initContainers: [{}] }),
      /initContainers must not be set/,
    ],
    'a writable root': [
      (_, { securityContext }) => Object.assign(securityContext as object, { readOnlyRootFilesystem: false }),
      /containers\[0\]\.securityContext\.readOnlyRootFilesystem is false instead of true/,
    ],
    privileges: [
      (_, { securityContext }) => Object.assign(securityContext as object, { privileged: true }),
      /privileged must not be set/,
    ],
    capabilities: [
      (_, { securityContext }) =>
        Object.assign(securityContext as object, { capabilities: { add: ['ALL'] } }),
      /capabilities\.drop is missing, .*capabilities\.add must not be set/,
    ],
    'a Secret in its environment': [
      (_, container) => Object.assign(container, { envFrom: [{ secretRef: { name: 's' } }] }),
      /envFrom must not be set/,
    ],
    'a variable of its own': [
      (_, { env }) => void (env as object[]).push({ name: 'NODE_OPTIONS', value: '--require=/x' }),
      /env\[3\] must not be set/,
    ],
    'no memory limit': [
      (_, container) => Object.assign(container, { resources: {} }),
      /resources\.limits is missing/,
    ],
    'another memory limit': [
      (_, { resources }) => Object.assign((resources as { limits: object }).limits, { memory: '8Gi' }),
      /limits\.memory is "8Gi" instead of "4294967296"/,
    ],
    'another image': [(_, container) => Object.assign(container, { image: 'other:2' }), /image is "other:2"/],
    'another command': [(_, container) => Object.assign(container, { command: ['sh'] }), /command/],
    'a field of a newer version': [
      (spec) => Object.assign(spec, { hostEverything: 'yes' }),
      /hostEverything/,
    ],
  };
  for (const [name, [change, message]] of Object.entries(faults))
    it(`notices ${name}`, () => assert.match(check(change) ?? '', message));

  it('demands the label that the network policy selects, and no annotation against filters', () => {
    assert.match(
      check(() => {}, { labels: {} }) ?? '',
      /the label app.kubernetes.io\/managed-by is not parley/,
    );
    const annotations = { 'container.apparmor.security.beta.kubernetes.io/agent': 'unconfined' };
    assert.match(check(() => {}, { annotations }) ?? '', /apparmor.* is unconfined/);
  });

  it('names three differences, and counts the others', () => {
    const difference = findDifference(wanted, { metadata: { labels: { ...managedBy } }, spec: {} }) ?? '';
    assert.match(difference, /^restartPolicy is missing, .* is missing, .* is missing, and \d+ more$/);
    assert.notEqual(findDifference(wanted, {}), undefined);
  });

  it('reads quantities', () => {
    assert.deepEqual(
      ['1', '500m', '2k', '1Gi', '1.5M', '1e3', '1Xi', '', 'Gi', undefined].map(parseQuantity),
      [1, 0.5, 2_000, 1_073_741_824, 1_500_000, 1_000, Number.NaN, Number.NaN, Number.NaN, Number.NaN],
    );
  });
});
