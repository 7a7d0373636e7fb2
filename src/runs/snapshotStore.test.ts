// The snapshot store: what is in it, and what happens if it cannot be used or has lost something.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { inspect } from '../../test/support/inspect.ts';
import { shell } from '../../test/support/runTalk.ts';
import { startS3Server, useS3 } from '../../test/support/s3Server.ts';
import {
  createCluster,
  makeFiles,
  showFiles,
  shownFiles,
  snapshotNotices,
  stopsWithFault,
} from '../../test/support/snapshots.ts';
import { until } from '../../test/support/until.ts';
import { uploadFiles } from '../../test/support/uploads.ts';
import { openConfiguredDatabase } from '../database.ts';
import { discardSnapshot } from '../workspaces/snapshots/store.ts';

describe('the snapshot store', () => {
  it('has no readable text, and no blob that neither a turn nor the last snapshot needs', async (t) => {
    const cluster = await createCluster(t);
    const machine = await cluster.startMachine();
    const id = await machine.create(
      'really-run for i in 1 2 3 4 5 6 7 8; do echo my-secret-text >>a.txt; done',
    );
    await machine.turns(id, 1);
    await cluster.stored(id);
    const first = cluster.blobs();
    await uploadFiles(machine.service, id, [['b.txt', 'more\n']]);
    await until('old blobs are gone', () => first.some((blob) => !existsSync(blob)));
    const texts = cluster.blobs().map((blob) => readFileSync(blob, 'latin1'));
    assert.ok(texts.length > 0);
    for (const text of texts) assert.doesNotMatch(text, /my-secret-text|a\.txt|ustar/);
    await machine.service.stop();
    const [row] = await inspect(machine.storage, 'select blob from snapshots');
    assert.equal(cluster.blobs().filter((blob) => blob.endsWith(String(row?.['blob']))).length, 1);
    assert.deepEqual(readdirSync(join(machine.storage.dataDir, 'snapshots')), []);
  });

  it('does not stop a run if it cannot be used, which the log says once, and is tried again', async (t) => {
    const cluster = await createCluster(t);
    rmSync(cluster.store, { recursive: true });
    writeFileSync(cluster.store, 'not a folder');
    const machine = await cluster.startMachine();
    const id = await machine.create('really-run echo one >a.txt');
    await machine.turns(id, 1);
    const failed = async () => snapshotNotices(await machine.events(id));
    await until('the notice', async () => (await failed()).length > 0);
    await shell(machine, id, 2, 'echo two >a.txt');
    await shell(machine, id, 3, 'echo three >a.txt');
    assert.deepEqual(await failed(), ['SNAPSHOT_NOT_STORED']);
    assert.ok(
      machine.service
        .logs()
        .includes(`no snapshot of conversation ${id} was stored: the snapshot store cannot be used`),
    );
    rmSync(cluster.store);
    mkdirSync(cluster.store);
    await shell(machine, id, 4, 'echo four >a.txt');
    await cluster.stored(id, 4);
    await machine.service.stop();
    const second = await cluster.startMachine();
    assert.equal(await shell(second, id, 5, 'cat a.txt'), 'four\n');
  });

  it('is filled again by the next run if it was lost', async (t) => {
    const cluster = await createCluster(t);
    const machine = await cluster.startMachine();
    const id = await cluster.createStored(machine, makeFiles);
    for (const blob of cluster.blobs()) rmSync(blob);
    // This snapshot builds on pieces that are gone.
    await shell(machine, id, 2, 'echo more >c.txt');
    await cluster.stored(id, 2);
    await machine.stop(id);
    await machine.reaches(id, 'STOPPED');
    await shell(machine, id, 3, 'true');
    await cluster.stored(id, 3);
    await machine.service.stop();
    const second = await cluster.startMachine();
    assert.equal(await shell(second, id, 4, 'cat a.txt c.txt'), 'one\nmore\n');
  });

  it('does not hold up turns while it hangs', async (t) => {
    const s3 = await startS3Server(t);
    useS3(t, s3);
    const cluster = await createCluster(t, { env: { PARLEY_SNAPSHOTS: 's3://files/x' } });
    const machine = await cluster.startMachine();
    const id = await cluster.createStored(machine, 'echo one >a.txt');
    s3.failWith = 'silence';
    assert.equal(await shell(machine, id, 2, 'echo two >a.txt; cat a.txt'), 'two\n');
    assert.equal(await shell(machine, id, 3, 'echo three >a.txt; cat a.txt'), 'three\n');
    s3.failWith = undefined;
  });

  it('may refuse to remove old blobs, which only the operator is told', async (t) => {
    const s3 = await startS3Server(t);
    useS3(t, s3);
    const cluster = await createCluster(t, { env: { PARLEY_SNAPSHOTS: 's3://files/x' } });
    const machine = await cluster.startMachine();
    s3.refusesDeletes = true;
    const id = await cluster.createStored(machine, 'echo one >a.txt');
    await uploadFiles(machine.service, id, [['b.txt', 'two\n']]);
    await until('it is logged', () =>
      machine.service
        .logs()
        .includes('files of old snapshots could not be removed: S3 failed with AccessDenied'),
    );
    assert.deepEqual(snapshotNotices(await machine.events(id)), []);
    const left = s3.objects.size;
    s3.refusesDeletes = false;
    await uploadFiles(machine.service, id, [['c.txt', 'three\n']]);
    await until('they are gone', () => s3.objects.size < left);
  });

  it('can be S3', async (t) => {
    const s3 = await startS3Server(t);
    useS3(t, s3);
    const cluster = await createCluster(t, { env: { PARLEY_SNAPSHOTS: 's3://files/x' } });
    const first = await cluster.startMachine();
    const id = await cluster.createStored(first, makeFiles);
    await first.service.stop();
    assert.ok([...s3.objects.keys()].every((key) => key.startsWith('files/x/')));
    const second = await cluster.startMachine();
    assert.equal(await shell(second, id, 2, showFiles), shownFiles);
    assert.doesNotMatch(second.service.logs(), /a-secret-key-of-the-test/);
  });

  for (const [what, damage] of [
    ['changed', (blob: string) => writeFileSync(blob, Buffer.concat([readFileSync(blob), Buffer.from('x')]))],
    ['cut off', (blob: string) => writeFileSync(blob, readFileSync(blob).subarray(0, 20))],
    ['missing', (blob: string) => rmSync(blob)],
  ] as const)
    it(`is not trusted: a blob that is ${what} stops the conversation, which starts when it is back`, async (t) => {
      const cluster = await createCluster(t);
      const first = await cluster.startMachine();
      const id = await cluster.createStored(first, 'echo one >a.txt');
      await first.stop(id);
      await first.reaches(id, 'STOPPED');
      await first.service.stop();
      const whole = new Map(cluster.blobs().map((blob) => [blob, readFileSync(blob)]));
      for (const blob of whole.keys()) damage(blob);
      const left = cluster.blobs();
      const second = await cluster.startMachine();
      assert.match(
        await stopsWithFault(second, id),
        /^The files .* cannot be restored .* the blob \w+\/\w+ /,
      );
      assert.deepEqual(cluster.blobs(), left);
      const { text } = await second.service.ask('/metrics');
      assert.match(text, /^parley_snapshot_restores_total\{outcome="damaged"\} 1$/m);
      for (const [blob, bytes] of whole) {
        mkdirSync(dirname(blob), { recursive: true });
        writeFileSync(blob, bytes);
      }
      assert.equal(await shell(second, id, 2, 'cat a.txt'), 'one\n');
    });

  it('may lose a snapshot for good, which the operator can discard', async (t) => {
    const cluster = await createCluster(t);
    const first = await cluster.startMachine();
    const id = await cluster.createStored(first, 'echo one >a.txt');
    await first.stop(id);
    await first.reaches(id, 'STOPPED');
    await first.service.stop();
    rmSync(cluster.blobs()[0] ?? '');
    const second = await cluster.startMachine({ times: { worker: { retentionMs: 100 } } });
    await stopsWithFault(second, id);
    const database = await openConfiguredDatabase(second.storage, assert.fail);
    t.after(() => database.close());
    const [owner] = await inspect(second.storage, "select id from users where name = 'owner'");
    const name = { userId: Number(owner?.['id']), id, by: 'command-line' };
    assert.equal(await database.run(discardSnapshot, name), 'discarded');
    const audit = await inspect(
      second.storage,
      "select subject from audit where action = 'snapshot.discard'",
    );
    assert.deepEqual(audit, [{ subject: id }]);
    await until('its blobs are gone', () => cluster.blobs().length === 0);
    assert.equal(await shell(second, id, 2, 'ls'), '');
  });

  it('is not taken for one that lost everything if its folder is gone', async (t) => {
    const cluster = await createCluster(t);
    const first = await cluster.startMachine();
    const id = await cluster.createStored(first, 'echo one >a.txt');
    await first.stop(id);
    await first.reaches(id, 'STOPPED');
    await first.service.stop();
    // As if the file system was not mounted.
    renameSync(cluster.store, `${cluster.store}-away`);
    const second = await cluster.startMachine();
    await second.start(id);
    const details = async () => (await second.info(id)).start_progress?.details ?? '';
    await until('it waits', async () => /snapshot store/.test(await details()));
    assert.equal(existsSync(cluster.store), false);
    renameSync(`${cluster.store}-away`, cluster.store);
    assert.equal(await shell(second, id, 2, 'cat a.txt'), 'one\n');
  });

  it('is waited for by a start that needs it', async (t) => {
    const s3 = await startS3Server(t);
    useS3(t, s3);
    const cluster = await createCluster(t, { env: { PARLEY_SNAPSHOTS: 's3://files/x' } });
    const first = await cluster.startMachine();
    const id = await cluster.createStored(first, 'echo one >a.txt');
    await first.stop(id);
    await first.reaches(id, 'STOPPED');
    await first.service.stop();
    s3.failWith = { status: 503, code: 'SlowDown' };
    const second = await cluster.startMachine();
    await second.start(id);
    const details = async () => (await second.info(id)).start_progress?.details ?? '';
    await until('it waits', async () => /snapshot store/.test(await details()));
    s3.failWith = undefined;
    assert.equal(await shell(second, id, 2, 'cat a.txt'), 'one\n');
  });
});
