// Requests to an API server that is a function here. test/kubernetes has a real one.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Api, type ApiRequest, refusalOf } from './api.ts';
import type { Pod } from './podStatus.ts';
import { createPods } from './pods.ts';

function createPodsOf(answer: (request: ApiRequest) => unknown) {
  const api: Api = {
    cluster: {
      server: new URL('https://127.0.0.1'),
      ca: undefined,
      token: () => undefined,
      namespace: 'here',
    },
    call: async (request) => answer(request) as never,
    watch: async function* () {},
    close: () => {},
  };
  return createPods(api, 'here');
}

describe('a list of pods', () => {
  it('has all pages', async () => {
    const pod = (name: string): Pod => ({ metadata: { name } });
    const pages: Record<string, object> = {
      '': { items: [pod('a'), pod('b')], metadata: { continue: 'two' } },
      two: { items: [pod('c')], metadata: { continue: 'three' } },
      three: { items: [pod('d')], metadata: {} },
    };
    const pods = createPodsOf(({ query }) => pages[query?.['continue'] ?? '']);
    const names = (await pods.list({})).map(({ metadata }) => metadata.name);
    assert.deepEqual(names, ['a', 'b', 'c', 'd']);
  });

  it('ends, although the server always has another page', async () => {
    const pods = createPodsOf(() => ({ items: [], metadata: { continue: 'more' } }));
    assert.deepEqual(await pods.list({}), []);
  });
});

describe('a refusal of the API server', () => {
  const refusal = (message: string) => refusalOf(403, JSON.stringify({ message })).message;

  it('is a missing permission only if it says so', () => {
    const forbidden =
      'pods is forbidden: User "x" cannot create resource "pods" in API group "" in the namespace "y"';
    assert.equal(refusal(forbidden), `this process lacks a permission in the cluster: ${forbidden}`);
    for (const message of [
      'pods "x" is forbidden: exceeded quota: all, requested: pods=1, used: pods=2, limited: pods=2',
      'pods "x" is forbidden: unable to create new content in namespace y because it is being terminated',
    ])
      assert.equal(refusal(message), message);
  });
});
