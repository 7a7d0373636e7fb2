import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { createManualClock } from '../../test/support/manualClock.ts';
import { until } from '../../test/support/until.ts';
import { openConfiguredDatabase } from '../database.ts';
import type { Database } from '../db/transaction.ts';
import type { Vault } from '../encryption/vault.ts';
import type { Principal } from '../keys/principal.ts';
import { ensureUser } from '../users/store.ts';
import { createNodes } from './service.ts';
import { countServing, findNodeUrls, findWorkspaceNode, registerNode, removeNode } from './store.ts';
import { signNodeToken, verifyNodeToken } from './token.ts';

for (const kind of databaseKinds) {
  describe(`the processes of a cluster on ${kind}`, () => {
    it('are found by the node that has a workspace, while they are alive', async (t) => {
      const database = await openTestDatabase(kind, t);
      const user = await database.run(ensureUser, 'owner');
      const name = { userId: user.id, id: 'a' };
      assert.equal(await database.run(findWorkspaceNode, name), undefined);
      await inspect(
        database,
        `insert into conversations (user_id, id, fingerprint, status, title, trigger, request, next_event, created_at, updated_at)
         values (${user.id}, 'a', '', 'STOPPED', '', 'gui', '{}', 0, 0, 0)`,
      );
      assert.deepEqual(await database.run(findWorkspaceNode, name), { nodeId: null, urls: [] });
      await inspect(database, "update conversations set workspace_node = 'n1'");
      await database.run(registerNode, {
        processId: 'p1',
        nodeId: 'n1',
        url: 'http://one:1',
        serves: true,
        takesWork: true,
      });
      await database.run(registerNode, {
        processId: 'p2',
        nodeId: 'n2',
        url: 'http://two:2',
        serves: true,
        takesWork: true,
      });
      await database.run(registerNode, {
        processId: 'p1',
        nodeId: 'n1',
        url: 'http://one:3',
        serves: true,
        takesWork: true,
      });
      assert.deepEqual(await database.run(findWorkspaceNode, name), { nodeId: 'n1', urls: ['http://one:3'] });
      await inspect(database, "update nodes set seen_at = seen_at - 25000 where process_id = 'p1'");
      assert.deepEqual(await database.run(findWorkspaceNode, name), { nodeId: 'n1', urls: [] });
      await inspect(database, "update nodes set seen_at = 0 where process_id = 'p1'");
      await database.run(registerNode, {
        processId: 'p3',
        nodeId: 'n3',
        url: 'http://three:3',
        serves: true,
        takesWork: true,
      });
      await database.run(removeNode, 'p2');
      const left = await inspect(database, 'select process_id from nodes');
      assert.deepEqual(
        left.map((row) => row['process_id']),
        ['p3'],
      );
    });
  });
}

describe('the processes that share limits', () => {
  const vault = { mac: () => '' } as unknown as Vault;
  const fail = (error: Error) => assert.fail(error);

  async function openCluster(t: TestContext) {
    const first = await openTestDatabase('postgres', t);
    const clock = createManualClock();
    const open = async (processId: string, database: Database, serves = true) => {
      const nodes = createNodes({
        ...{ database, vault, nodeId: processId, processId, serves, takesWork: true, clock },
        onBackgroundError: fail,
      });
      await nodes.register(`http://${processId}:1`);
      return nodes;
    };
    const a = await open('a', first);
    async function join(processId: string, serves = true) {
      const database = await openConfiguredDatabase(first, fail);
      t.after(database.close);
      return open(processId, database, serves);
    }
    return { a, database: first, clock, join };
  }

  it('are counted in all of them when one joins, starts to stop, and stops', async (t) => {
    const { a, join, database } = await openCluster(t);
    assert.equal(a.sharing(), 1);
    const b = await join('b');
    assert.equal(b.sharing(), 2);
    await until('the first process counts the second', () => a.sharing() === 2);
    await b.leave();
    await until('the second process has left', () => a.sharing() === 1);
    assert.equal(b.sharing(), 2, 'it keeps to its share while it answers the last requests');
    assert.deepEqual(await database.run(findNodeUrls, 'b'), ['http://b:1'], 'others still reach it');
    await b.close();
    assert.deepEqual(await database.run(findNodeUrls, 'b'), []);
    assert.equal(await database.run(countServing, null), 1);
  });

  it('do not include those that only run conversations', async (t) => {
    const { a, join, database } = await openCluster(t);
    await join('worker', false);
    const c = await join('c');
    await until('the first process counts the third', () => a.sharing() === 2);
    assert.deepEqual([c.sharing(), await database.run(countServing, null)], [2, 2]);
  });

  it('include one that died until its heartbeat is old, and one whose notification was lost from the next heartbeat', async (t) => {
    const { a, database, clock } = await openCluster(t);
    const seenAt = async () =>
      Number((await inspect(database, "select seen_at from nodes where process_id = 'a'"))[0]?.['seen_at']);
    /** Waits for a heartbeat that begins now: one that is in progress may have counted already. */
    const beat = async (sharing: number) => {
      const before = await seenAt();
      await until(`${sharing} share the limits after a heartbeat`, async () => {
        if ((await seenAt()) > before && a.sharing() === sharing) return true;
        clock.advance(2_000);
        return false;
      });
    };
    await database.run(registerNode, {
      processId: 'b',
      nodeId: 'b',
      url: 'http://b:1',
      serves: true,
      takesWork: true,
    });
    assert.equal(a.sharing(), 1);
    await beat(2);
    await inspect(database, "update nodes set seen_at = seen_at - 10000 where process_id = 'b'");
    await beat(2);
    await inspect(database, "update nodes set seen_at = seen_at - 10000 where process_id = 'b'");
    await beat(1);
    await a.close();
  });
});

describe('the token of a passed request', () => {
  const vaultOf = (key: string) => ({
    mac: (purpose: string, text: string) =>
      createHmac('sha256', key).update(`${purpose}\0${text}`).digest('base64url'),
  });
  const principal: Principal = {
    userId: 7,
    userName: 'ann',
    keyId: 'k',
    keyName: 'laptop',
    via: 'session',
    scopes: new Set(['conversations:read']),
    expiresAt: Number.POSITIVE_INFINITY,
    acceptsBearer: false,
  };
  const request = {
    method: 'GET',
    url: '/api/conversations/a/list-files?path=b',
    requestId: 'r-1',
    principal,
  };
  const token = signNodeToken(vaultOf('one'), request, 1_000_000);

  it('returns the sender for the same method, URL and database', () => {
    assert.deepEqual(verifyNodeToken(vaultOf('one'), token, request, 1_000_000), {
      requestId: 'r-1',
      principal,
    });
  });

  it('is refused for another database, method or URL, and after five minutes', () => {
    assert.equal(verifyNodeToken(vaultOf('two'), token, request, 1_000_000), undefined);
    assert.equal(
      verifyNodeToken(vaultOf('one'), token, { ...request, method: 'DELETE' }, 1_000_000),
      undefined,
    );
    assert.equal(
      verifyNodeToken(vaultOf('one'), token, { ...request, url: '/api/keys' }, 1_000_000),
      undefined,
    );
    assert.equal(verifyNodeToken(vaultOf('one'), token, request, 1_000_000 + 300_001), undefined);
    for (const text of [
      '',
      '.',
      'a.b',
      `${token.slice(0, -2)}xx`,
      token.slice(1),
      `${token}.x`.replace('.', ''),
    ])
      assert.equal(verifyNodeToken(vaultOf('one'), text, request, 1_000_000), undefined);
  });
});
