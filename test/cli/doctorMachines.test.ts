// `parley doctor` on several machines: whether they reach each other, and have the same snapshot store.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Diagnostics } from '../../src/client/parley.ts';
import { createCommandLine } from '../support/commandLine.ts';
import { createStorage } from '../support/databases.ts';
import { findings, listen } from '../support/doctor.ts';
import { startService } from '../support/service.ts';
import { temporaryFolder } from '../support/snapshots.ts';
import { until } from '../support/until.ts';

const common = { PARLEY_SECRET_KEY: '11'.repeat(32), SESSION_API_KEY: 'the-same-key-everywhere' };

type Process = Diagnostics['processes'][number];

/** Runs the doctor against the first of two machines, which have these variables. */
async function diagnose(t: TestContext, ...machines: Record<string, string>[]) {
  const storage = await createStorage('postgres');
  const services = [];
  for (const [i, env] of machines.entries()) {
    const dataDir = join(storage.dataDir, String(i));
    mkdirSync(dataDir);
    const role = i === 0 ? 'api' : 'worker';
    const own = { PARLEY_ROLE: role, ...common, ...env };
    services.push(await startService({ storage: { ...storage, dataDir }, env: own }, t));
  }
  t.after(() => storage.remove());
  const [first] = services;
  assert.ok(first);
  const env = { PARLEY_KEY: common.SESSION_API_KEY };
  const { processes } = await until('all have looked at their store', async () => {
    const { text, body } = await first.ask('/api/diagnostics');
    assert.ok(!text.includes(common.SESSION_API_KEY));
    const reported = (body.processes as Process[]).filter(({ snapshot_store: store }) => store !== '');
    return reported.length === machines.length && { processes: reported };
  });
  return {
    found: findings(await createCommandLine(first, t, env).run(['doctor', '--json'])),
    processes,
  };
}

describe('parley doctor with several machines', () => {
  it('finds nothing wrong if they reach each other and share a store', async (t) => {
    const store = { PARLEY_SNAPSHOTS: temporaryFolder(t) };
    const { found, processes } = await diagnose(t, store, store);
    assert.deepEqual(found.get('reach'), {
      check: 'reach',
      state: 'ok',
      message: 'The process that answers can reach the others: 1.',
    });
    assert.equal(found.get('stores')?.message, 'All machines have the same snapshot store.');
    assert.deepEqual(processes.map(({ reachable }) => reachable).sort(), [null, true]);
  });

  it('names a machine without PARLEY_SNAPSHOTS, 1', async (t) => {
    const { found } = await diagnose(t, { PARLEY_SNAPSHOTS: temporaryFolder(t) }, {});
    assert.equal(found.get('stores')?.state, 'wrong');
    assert.match(
      String(found.get('stores')?.message),
      /PARLEY_SNAPSHOTS is not set on the machine [\w-]+\.$/,
    );
  });

  it('tells stores with the same service apart, such as folders that are not shared, 1', async (t) => {
    const own = () => ({ PARLEY_SNAPSHOTS: temporaryFolder(t) });
    const { found } = await diagnose(t, own(), own());
    assert.equal(found.get('stores')?.state, 'wrong');
    assert.match(String(found.get('stores')?.message), /the machines have different stores/);
  });

  it('names a machine whose store cannot be used, 1', async (t) => {
    const missing = { PARLEY_SNAPSHOTS: join(temporaryFolder(t), 'missing') };
    const { found } = await diagnose(t, { PARLEY_SNAPSHOTS: temporaryFolder(t) }, missing);
    assert.match(String(found.get('stores')?.message), /cannot be used on the machine [\w-]+\.$/);
  });

  it('says that no machine has a store', async (t) => {
    const { found } = await diagnose(t, {}, {});
    assert.equal(found.get('stores')?.state, 'note');
  });

  it('names a machine that cannot be reached under its URL, 1', async (t) => {
    const { found } = await diagnose(t, {}, { PARLEY_NODE_URL: 'http://127.0.0.1:9' });
    assert.equal(found.get('reach')?.state, 'wrong');
    assert.match(
      String(found.get('reach')?.message),
      /cannot reach the machine [\w-]+ at http:\/\/127\.0\.0\.1:9 \(ECONNREFUSED\)\.$/,
    );
    assert.match(String(found.get('reach')?.remedy), /PARLEY_NODE_URL/);
  });

  it('notices that another server answers under the URL of a machine, or nobody in time, 1', async (t) => {
    const other = createServer((_, response) => void response.end('{"process_id":"other"}'));
    const silent = createServer(() => {});
    const [otherPort, silentPort] = [await listen(t, other), await listen(t, silent)];
    const { found } = await diagnose(
      t,
      {},
      { PARLEY_NODE_URL: `http://127.0.0.1:${otherPort}` },
      { PARLEY_NODE_URL: `http://127.0.0.1:${silentPort}` },
    );
    const message = String(found.get('reach')?.message);
    assert.match(message, /\(another process answers there\)/);
    assert.match(message, /\(there was no answer within 5 s\)/);
  });
});
