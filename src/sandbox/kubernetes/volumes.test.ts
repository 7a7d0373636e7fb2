import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Api, type ApiRequest, ClusterError } from './api.ts';
import { keyLabel } from './podSpec.ts';
import { createVolumes, serviceLabel } from './volumes.ts';

interface StoredClaim {
  metadata: { name: string; uid: string; deletionTimestamp?: string; labels: Record<string, string> };
  spec: { storageClassName?: string; accessModes?: string[]; resources?: object };
  status: { phase: string };
}

const folder = '/api/v1/namespaces/agents/persistentvolumeclaims';
const one = { key: 1, userId: 7, id: 'one' };

/** The claims of a namespace, as an API server answers for them. It lists two at a time. */
function createClaims() {
  const claims = new Map<string, StoredClaim>();
  let count = 0;
  /** Called before each request. */
  const hooks = { before: (_: ApiRequest) => {} };

  function list({ labelSelector = '', continue: from = '0' }: Readonly<Record<string, string>>) {
    const wanted = labelSelector.split(',').map((pair) => pair.split('='));
    const found = [...claims.values()].filter(({ metadata: { labels } }) =>
      wanted.every(([name = '', value]) => labels[name] === value),
    );
    const end = Number(from) + 2;
    return {
      items: found.slice(Number(from), end),
      metadata: end < found.length ? { continue: String(end) } : {},
    };
  }

  function answer({ method = 'GET', path, query = {}, body }: ApiRequest): unknown {
    if (path === folder && method === 'GET') return list(query);
    if (path === folder) {
      const { metadata, spec } = body as StoredClaim;
      if (claims.has(metadata.name)) throw new ClusterError('already exists', 409);
      const claim = { metadata: { ...metadata, uid: `uid-${++count}` }, spec, status: { phase: 'Pending' } };
      claims.set(metadata.name, claim);
      return claim;
    }
    const name = path.slice(folder.length + 1);
    const claim = claims.get(name);
    if (claim === undefined) throw new ClusterError('not found', 404);
    if (method === 'GET') return claim;
    const { preconditions } = body as { preconditions?: { uid?: string } };
    if (preconditions?.uid !== claim.metadata.uid) throw new ClusterError('the UID does not match', 409);
    claims.delete(name);
    return {};
  }

  const api = {
    call: async (asked: ApiRequest) => {
      hooks.before(asked);
      return structuredClone(answer(asked));
    },
  } as Api;
  const volumesOf = (service: string) =>
    createVolumes(api, 'agents', {
      size: '1Gi',
      storageClass: undefined,
      serviceId: async () => service,
    });
  return { claims, hooks, volumes: volumesOf('a'), volumesOf };
}

describe('the volumes of conversations', () => {
  it('are the same for each run of a conversation, and others for other conversations and services', async () => {
    const { volumes, volumesOf, claims } = createClaims();
    const first = await volumes.open(one);
    assert.deepEqual(await volumes.open(one), first);
    const others = [
      await volumes.open({ ...one, key: 2 }),
      await volumes.open({ ...one, userId: 8 }),
      await volumes.open({ ...one, id: 'two' }),
      await volumesOf('b').open(one),
    ];
    assert.equal(new Set([first, ...others].map(({ id }) => id)).size, 5);
    assert.equal(claims.size, 5);
    const claim = claims.get(first.claim);
    assert.match(first.claim, /^parley-[0-9a-f]{40}$/);
    assert.deepEqual(claim?.spec, {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
    });
    assert.equal(claim?.metadata.labels['parley.dev/conversation'], 'one');
  });

  it('are created once by two workers at the same time', async () => {
    const { volumes, volumesOf, claims } = createClaims();
    const [first, second] = await Promise.all([volumes.open(one), volumesOf('a').open(one)]);
    assert.deepEqual(first, second);
    assert.equal(claims.size, 1);
  });

  it('are never one that is being deleted', async () => {
    const { volumes, claims, hooks } = createClaims();
    const { claim, id } = await volumes.open(one);
    const stored = claims.get(claim);
    assert.ok(stored !== undefined);
    stored.metadata.deletionTimestamp = 'now';
    let looks = 0;
    hooks.before = ({ method }) => {
      if (method === undefined && ++looks === 3) claims.delete(claim);
    };
    const next = await volumes.open(one);
    assert.equal(next.claim, claim);
    assert.notEqual(next.id, id);
  });

  it('are listed page by page without those of other services, and removed only if the list had them', async () => {
    const { volumes, volumesOf, claims } = createClaims();
    for (const key of [1, 2, 3]) await volumes.open({ ...one, key });
    await volumesOf('b').open({ ...one, key: 4 });
    assert.deepEqual(await volumes.list(), [1, 2, 3]);
    assert.equal(await volumes.remove(2), true);
    const again = await volumes.open({ ...one, key: 2 });
    // It is younger than the list.
    assert.equal(await volumes.remove(2), false);
    assert.ok(claims.has(again.claim));
    await volumes.open({ ...one, key: 5 });
    assert.equal(await volumes.remove(5), false);
    assert.equal(await volumes.remove(4), false);
    const left = [...claims.values()].map(({ metadata }) => metadata.labels[keyLabel]).sort();
    assert.deepEqual(left, ['1', '2', '3', '4', '5']);
    assert.equal(claims.get(again.claim)?.metadata.labels[serviceLabel], 'a');
  });

  it('say why they are not bound', async () => {
    const { volumes, claims } = createClaims();
    const volume = await volumes.open(one);
    const claim = claims.get(volume.claim);
    assert.ok(claim !== undefined);
    assert.match(
      (await volumes.findFault(volume)) ?? '',
      /is not bound: no storage class is configured, and the cluster has no default$/,
    );
    claim.spec.storageClassName = 'slow';
    assert.match((await volumes.findFault(volume)) ?? '', /the storage class slow has provided no volume$/);
    claim.status.phase = 'Bound';
    assert.equal(await volumes.findFault(volume), undefined);
  });
});
