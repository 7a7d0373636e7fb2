import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type PodOptions, podOf, specLabel } from './podSpec.ts';
import type { Pod } from './podStatus.ts';
import { findLivingPod } from './takeover.ts';

const spec = {
  name: 'run',
  workspace: '/data/workspace',
  home: '/data/home',
  readable: [],
  resourceFactor: 1,
  image: null,
  conversation: { key: 3, userId: 7, id: 'one' },
};
const options: PodOptions = {
  namespace: 'parley',
  image: 'agents:1',
  runtimeClass: undefined,
  processId: 'p1',
  filesBytesMax: 1_000_000,
};
const hashOf = (...[more, other, claim]: [Partial<typeof spec>?, Partial<PodOptions>?, string?]) =>
  podOf('x', { ...spec, ...more }, { ...options, ...other }, claim).metadata.labels[specLabel] ?? '';

const wanted = hashOf();
const running = { phase: 'Running', containerStatuses: [{ state: { running: {} } }] };
const podWith = (metadata: object = {}, status: Pod['status'] = running): Pod => ({
  metadata: { name: 'x', labels: { [specLabel]: wanted }, ...metadata },
  status,
});

describe('the pod of an earlier run', () => {
  it('is the one that runs as it was wanted', () => {
    assert.equal(findLivingPod([podWith()], wanted)?.metadata.name, 'x');
  });

  it('is none that has ended, is being deleted, belongs to a controller, is another one or not the only one', () => {
    const ended = { phase: 'Failed', containerStatuses: [{ state: { terminated: { exitCode: 10 } } }] };
    for (const found of [
      [],
      [podWith({}, ended)],
      [podWith({}, { phase: 'Pending' })],
      [podWith({ deletionTimestamp: 'now' })],
      [podWith({ ownerReferences: [{}] })],
      [podWith({ labels: { [specLabel]: 'another' } })],
      [podWith({ labels: {} })],
      [podWith(), podWith({}, ended)],
    ])
      assert.equal(findLivingPod(found, wanted), undefined);
  });

  it('is wanted with the same image, limits, runtime and volume, whichever worker has created it', () => {
    assert.equal(hashOf({ name: 'another' }, { processId: 'p2' }), wanted);
    const others = [
      hashOf({ resourceFactor: 2 }),
      hashOf({}, { image: 'agents:2' }),
      hashOf({}, { runtimeClass: 'gvisor' }),
      hashOf({}, { filesBytesMax: 2_000_000 }),
      hashOf({}, {}, 'claim'),
    ];
    assert.equal(new Set([wanted, ...others]).size, 6);
  });
});
