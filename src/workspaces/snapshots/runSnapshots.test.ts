// What a run stores while the store is slow, and when it ends.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { someTime as at, newConversation } from '../../../test/support/conversations.ts';
import { openTestDatabase } from '../../../test/support/databases.ts';
import { createManualClock } from '../../../test/support/manualClock.ts';
import { startS3Server, useS3 } from '../../../test/support/s3Server.ts';
import { createSnapshotBench } from '../../../test/support/snapshotBench.ts';
import { until } from '../../../test/support/until.ts';
import { createS3Store } from '../../blobs/s3Store.ts';
import { createConversation } from '../../conversations/create/store.ts';
import { claimConversation } from '../../conversations/run/claimStore.ts';
import { releaseRun } from '../../conversations/run/store.ts';
import { filesTopic } from '../../db/topics.ts';
import { openVault } from '../../encryption/vault.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import { ensureUser } from '../../users/store.ts';
import { settleMs, settleMsMax } from './bounds.ts';
import { createSnapshots } from './service.ts';
import { findSnapshot } from './store.ts';

const enoughMs = 120_000;

async function setUp(t: TestContext, endMs = enoughMs) {
  const database = await openTestDatabase('sqlite', t);
  const userId = (await database.run(ensureUser, 'ada')).id;
  const vault = await openVault({ database, dataDir: database.dataDir, secretKeys: [randomBytes(32)] });
  const s3 = await startS3Server(t);
  useS3(t, s3);
  const store = createS3Store({ kind: 's3', bucket: 'files', prefix: '' });
  const { newPlace } = createSnapshotBench(t);
  const place = await newPlace();
  const failures: Error[] = [];
  const metrics = createMetrics();
  const clock = createManualClock();
  await database.run(createConversation, newConversation(userId, 'c'));
  const claim = async (runId: string) => {
    const claim = { runId, owner: 'here', leaseMs: 60_000, userRunsMax: 0 };
    return { key: (await database.run(claimConversation, claim))?.key ?? 0, runId };
  };
  const run = await claim('r1');
  const snapshots = createSnapshots({
    database,
    vault,
    store,
    dataDir: database.dataDir,
    bytesMax: 50_000_000,
    filesMax: 1_000,
    freeMin: { freeBytesMin: 0, freeFilesMin: 0 },
    openWorkspace: async () => ({ ...place.sandbox, close: async () => {} }),
    metrics,
    onBackgroundError: (error) => failures.push(error),
    endMs,
  });
  const own = snapshots.begin({
    run,
    name: { userId, id: 'c' },
    hasRemote: false,
    isHeld: () => true,
    onSummary: () => {},
    heard: 0,
    clock,
    onFailure: (error) => failures.push(error),
    onRemovalFailure: (error) => failures.push(error),
  });
  const puts = () => s3.requests.filter((request) => request.startsWith('PUT')).length;
  return {
    database,
    metrics,
    clock,
    snapshots,
    s3,
    own,
    run,
    claim,
    failures,
    puts,
    workspace: place.workspace,
    write: (text: string) => writeFileSync(join(place.workspace, 'a.txt'), text),
    published: async () => (await database.run(findSnapshot, run.key)) ?? undefined,
    copies: () => readdirSync(join(database.dataDir, 'snapshots')),
  };
}

describe('the snapshots of a run', () => {
  it('are stored one at a time, and only the latest of those that wait', async (t) => {
    const { s3, own, write, puts, published, copies, failures } = await setUp(t);
    const { promise, resolve } = Promise.withResolvers<void>();
    s3.held = promise;
    write('one');
    own.endTurn(1);
    await until('the first is being stored', () => puts() > 0);
    for (const heard of [2, 3, 4]) {
      write(`version ${heard}`);
      own.endTurn(heard);
      await own.beginTurn();
    }
    assert.ok(copies().length <= 2, String(copies().length));
    assert.equal((await published())?.blob, null);
    const before = puts();
    resolve();
    await own.finish();
    assert.equal((await published())?.heard, 4);
    assert.deepEqual([copies(), failures], [[], []]);
    // The rest of the first, and the last: not those between.
    assert.ok(puts() - before < 12, String(puts() - before));
  });

  it('end within a bound while the store hangs, and the last good one stays', async (t) => {
    const { s3, own, write, puts, published, copies } = await setUp(t, 2_000);
    write('one');
    own.endTurn(1);
    await until('it is stored', async () => (await published())?.heard === 1);
    const good = await published();
    s3.held = new Promise(() => {});
    write('two');
    own.endTurn(2);
    const before = puts();
    await until('the next one is being stored', () => puts() > before);
    await own.finish();
    assert.deepEqual(await published(), good);
    assert.deepEqual(copies(), []);
  });

  it('are not published by a run that has lost its conversation, which removes what it stored', async (t) => {
    const { database, s3, own, run, claim, write, puts, published } = await setUp(t);
    const { promise, resolve } = Promise.withResolvers<void>();
    s3.held = promise;
    write('one');
    own.endTurn(1);
    await until('it is being stored', () => puts() > 0);
    await database.run(releaseRun, { ...run, at });
    await claim('r2');
    resolve();
    const removals = () => s3.requests.filter((request) => request.startsWith('DELETE')).length;
    await until('its blobs are gone', () => removals() >= puts() && s3.objects.size === 0);
    assert.equal((await published())?.blob, null);
    own.abandon();
    await own.finish();
  });

  it('begin with the workspace before the first turn, which nothing waits for', async (t) => {
    const { own, write, published, failures, metrics } = await setUp(t);
    write('new');
    own.copyNew();
    await own.beginTurn();
    // The session of an agent is never resumed from it.
    await until('it is stored', async () => (await published())?.heard === -1);
    own.endTurn(1);
    await until('it is replaced', async () => (await published())?.heard === 1);
    await own.finish();
    assert.deepEqual(failures, []);
    const { text } = await metrics.read();
    assert.match(text, /^parley_snapshot_seconds_count\{outcome="stored"\} 2$/m);
    assert.match(text, /^parley_snapshot_bytes_total [1-9]/m);
  });

  it('follow changes of the user, also those that another process made, once they have settled', async (t) => {
    const { database, own, run, clock, write, published } = await setUp(t);
    own.endTurn(3);
    clock.advance(1);
    await until('the turn is stored', async () => (await published())?.heard === 3);
    await until('it is not overdue', () => own.overdueMs() === 0);
    const before = await published();
    write('changed');
    for (let i = 0; i < 3; i++) {
      own.filesChanged();
      clock.advance(settleMs - 1);
      assert.equal(own.overdueMs(), 0);
    }
    database.notify([filesTopic(run.key)]);
    clock.advance(settleMs - 1);
    assert.equal(own.overdueMs(), 0);
    clock.advance(1);
    const stored = await until('it is stored', async () => {
      const now = await published();
      return now?.blob !== before?.blob && now;
    });
    // The session is still that after the turn.
    assert.equal(stored.heard, 3);
    await own.finish();
  });

  it('are made at last while the user never stops changing files', async (t) => {
    const { own, clock, write, published } = await setUp(t);
    write('changed');
    for (let ms = 0; ms < settleMsMax; ms += 1_000) {
      own.filesChanged();
      clock.advance(1_000);
    }
    await until('it is stored', async () => typeof (await published())?.blob === 'string');
    own.filesChanged();
    await own.finish();
    assert.equal(clock.timers(), 0);
  });

  it('give way to a turn if they are only those of the user', async (t) => {
    const { own, clock, write, published, failures } = await setUp(t);
    own.endTurn(1);
    clock.advance(1);
    await until('the turn is stored', async () => (await published())?.heard === 1);
    await until('it is not overdue', () => own.overdueMs() === 0);
    const before = await published();
    write('changed');
    own.filesChanged();
    clock.advance(settleMs);
    await own.beginTurn();
    clock.advance(1);
    own.filesChanged();
    assert.equal(clock.timers(), 0);
    await until('the copy has ended', () => own.overdueMs() === 0);
    assert.deepEqual(await published(), before);
    own.endTurn(2);
    await until('it is stored with the turn', async () => (await published())?.heard === 2);
    await own.finish();
    assert.deepEqual(failures, []);
  });

  it('are overdue while the store does not take them', async (t) => {
    const { s3, own, clock, snapshots, metrics, write } = await setUp(t, 1);
    s3.failWith = { status: 403, code: 'AccessDenied' };
    write('one');
    own.endTurn(1);
    await until('it has failed', async () =>
      (await metrics.read()).text.includes('parley_snapshot_failures_total{reason="store"} 1'),
    );
    clock.advance(60_000);
    assert.equal(snapshots.overdueMs(), 60_000);
    await own.finish();
    assert.equal(snapshots.overdueMs(), 0);
  });

  it('are not stored again if nothing has changed', async (t) => {
    const { own, write, puts, published } = await setUp(t);
    write('one');
    own.endTurn(1);
    await until('it is stored', async () => (await published())?.heard === 1);
    await own.beginTurn();
    const before = puts();
    await own.finish();
    assert.equal(puts(), before);
  });
});
