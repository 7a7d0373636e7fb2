import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setVariables, startS3Server, useS3 } from '../../test/support/s3Server.ts';
import { type BlobStore, BlobStoreError } from './blobStore.ts';
import { findStoreFault } from './findStoreFault.ts';
import { createFolderStore } from './folderStore.ts';
import { parseBlobLocation } from './location.ts';
import { createS3Store } from './s3Store.ts';

const { signal } = new AbortController();

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function openS3(t: TestContext) {
  const server = await startS3Server(t);
  useS3(t, server);
  const store = createS3Store({ kind: 's3', bucket: 'files', prefix: 'a/b/' });
  t.after(() => store.close());
  return { server, store };
}

const stores: Readonly<Record<string, (t: TestContext) => Promise<BlobStore>>> = {
  'a folder': async (t) => createFolderStore(folderOf(t)),
  S3: async (t) => (await openS3(t)).store,
};

for (const [name, open] of Object.entries(stores))
  describe(`blobs in ${name}`, () => {
    it('are read as they were written, listed, and removed', async (t) => {
      const store = await open(t);
      const bytes = Buffer.from([0, 255, 10, 13]);
      for (const file of ['b1', 'b2', 'b3', 'b4', 'b5']) await store.put('f1', file, bytes, signal);
      await store.put('f2', 'b1', Buffer.from('other'), signal);
      assert.deepEqual(await store.get('f1', 'b1', 4, signal), bytes);
      assert.deepEqual((await store.list('f1', 100, signal)).toSorted(), ['b1', 'b2', 'b3', 'b4', 'b5']);
      assert.equal((await store.list('f1', 2, signal)).length, 2);
      await store.remove('f1', ['b1', 'b2', 'b3', 'missing'], signal);
      assert.deepEqual((await store.list('f1', 100, signal)).toSorted(), ['b4', 'b5']);
      assert.equal(await store.get('f1', 'b1', 4, signal), undefined);
      assert.equal((await store.get('f2', 'b1', 10, signal))?.toString(), 'other');
    });

    it('are not found if they are missing or too large', async (t) => {
      const store = await open(t);
      await store.put('f1', 'b1', Buffer.alloc(11), signal);
      assert.equal(await store.get('f1', 'b1', 10, signal), undefined);
      assert.equal(await store.get('f1', 'b2', 10, signal), undefined);
      assert.deepEqual(await store.list('f9', 10, signal), []);
    });

    it('can be tried, which leaves nothing', async (t) => {
      const store = await open(t);
      assert.equal(await findStoreFault(store), undefined);
      const removed: string[] = [];
      const noted: BlobStore = {
        ...store,
        remove: (folder, files, given) => {
          removed.push(folder);
          return store.remove(folder, files, given);
        },
      };
      assert.equal(await findStoreFault(noted), undefined);
      assert.deepEqual(await store.list(removed[0] ?? '', 10, signal), []);
    });

    it('cannot have names that lead elsewhere', async (t) => {
      const store = await open(t);
      for (const bad of ['../x', 'a/b', '', '.', 'A'])
        await assert.rejects(async () => store.put('f1', bad, Buffer.alloc(1), signal));
    });
  });

describe('blobs in a folder', () => {
  it('are private, and whole or not there', async (t) => {
    const top = folderOf(t);
    const store = createFolderStore(top);
    await store.put('f1', 'b1', Buffer.from('x'), signal);
    assert.equal(statSync(join(top, 'f1')).mode & 0o777, 0o700);
    assert.equal(statSync(join(top, 'f1', 'b1')).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(top, 'f1')), ['b1']);
  });

  it('are not read from links and pipes, and are removed whatever they are', async (t) => {
    const top = folderOf(t);
    const store = createFolderStore(top);
    await store.put('f1', 'b1', Buffer.from('x'), signal);
    symlinkSync('/dev/zero', join(top, 'f1/link'));
    execFileSync('mkfifo', [join(top, 'f1/pipe')]);
    mkdirSync(join(top, 'f1/folder/below'), { recursive: true });
    for (const name of ['link', 'pipe', 'folder'])
      assert.equal(await store.get('f1', name, 10, signal), undefined, name);
    await store.remove('f1', await store.list('f1', 10, signal), signal);
    assert.deepEqual(readdirSync(top), []);
  });

  it('fail with the reason if the folder cannot be used', async (t) => {
    const file = join(folderOf(t), 'file');
    writeFileSync(file, '');
    chmodSync(file, 0o600);
    const store = createFolderStore(file);
    await assert.rejects(store.put('f1', 'b1', Buffer.alloc(1), signal), BlobStoreError);
    assert.equal((await findStoreFault(store))?.message, 'the folder cannot be used (ENOTDIR)');
    const late = AbortSignal.abort();
    await assert.rejects(async () => store.get('f1', 'b1', 1, late));
  });
});

/** A folder of a file system that is read-only, as in most containers. */
function findReadOnlyFolder(): string | undefined {
  try {
    rmdirSync(mkdtempSync('/sys/parley-'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EROFS') return '/sys';
  }
  return undefined;
}

describe('a store that fails', () => {
  it('keeps nothing of a check', async (t) => {
    const top = folderOf(t);
    const store = createFolderStore(top);
    const failing = { ...store, list: () => Promise.reject(new BlobStoreError('no lists')) };
    assert.equal((await findStoreFault(failing))?.message, 'no lists');
    assert.deepEqual(readdirSync(top), []);
  });

  const readOnly = findReadOnlyFolder();
  it('because it is read-only says so', {
    skip: readOnly === undefined && 'needs a read-only folder',
  }, async () => {
    const fault = await findStoreFault(createFolderStore(readOnly ?? ''));
    assert.equal(fault?.message, 'the folder cannot be used (EROFS)');
  });
});

describe('a folder that does not exist', () => {
  it('is not created, and is not the same as one without blobs', async (t) => {
    const top = join(folderOf(t), 'unmounted');
    const store = createFolderStore(top);
    const fault = { message: 'the folder does not exist: create it, or mount its file system' };
    await assert.rejects(store.put('f1', 'b1', Buffer.alloc(1), signal), fault);
    await assert.rejects(store.get('f1', 'b1', 1, signal), fault);
    await assert.rejects(store.list('f1', 1, signal), fault);
    assert.equal(existsSync(top), false);
  });
});

describe('blobs in S3', () => {
  it('are below the prefix in the bucket', async (t) => {
    const { server, store } = await openS3(t);
    await store.put('f1', 'b1', Buffer.from('x'), signal);
    assert.deepEqual([...server.objects.keys()], ['files/a/b/f1/b1']);
  });

  it('can be tried with credentials that may not remove them, which is found', async (t) => {
    const { server, store } = await openS3(t);
    server.refusesDeletes = true;
    assert.match((await findStoreFault(store))?.message ?? '', /^S3 failed with AccessDenied/);
  });

  it('fail with the name of the error, without credentials', async (t) => {
    const { server, store } = await openS3(t);
    server.failWith = { status: 403, code: 'AccessDenied' };
    await assert.rejects(store.put('f1', 'b1', Buffer.alloc(1), signal), (error: Error) => {
      assert.ok(error instanceof BlobStoreError);
      assert.equal(error.message, 'S3 failed with AccessDenied (403)');
      return true;
    });
    server.failWith = 'silence';
    await assert.rejects(store.get('f1', 'b1', 1, AbortSignal.timeout(50)), BlobStoreError);
  });

  it('fail with what to set if there is no region', async (t) => {
    setVariables(t, {
      AWS_CONFIG_FILE: join(folderOf(t), 'none'),
      AWS_ACCESS_KEY_ID: 'test-id',
      AWS_SECRET_ACCESS_KEY: 'a-secret-key-of-the-test',
      AWS_EC2_METADATA_DISABLED: 'true',
    });
    const store = createS3Store({ kind: 's3', bucket: 'files', prefix: '' });
    t.after(() => store.close());
    await assert.rejects(store.get('f1', 'b1', 1, signal), { message: 'S3 needs a region: set AWS_REGION' });
  });
});

describe('the location of a blob store', () => {
  it('is an absolute path or a bucket', () => {
    assert.deepEqual(parseBlobLocation('/srv/a/'), { kind: 'folder', path: '/srv/a' });
    assert.deepEqual(parseBlobLocation('s3://my-bucket'), { kind: 's3', bucket: 'my-bucket', prefix: '' });
    assert.deepEqual(parseBlobLocation('s3://b.c/x/y/'), { kind: 's3', bucket: 'b.c', prefix: 'x/y/' });
    for (const bad of ['a', './a', 's3://', 's3:///x', 'S3://bucket', 's3://b:c/x', 'https://bucket/x'])
      assert.equal(parseBlobLocation(bad), undefined, bad);
  });
});
