import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { countRows, inspect } from '../../../test/support/inspect.ts';
import { startService, type TestService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import {
  multipartBody,
  multipartType,
  type NamedContent,
  stagedUploads,
  streamUpload,
  uploadFiles,
} from '../../../test/support/uploads.ts';
import { newConversationFolder, putFiles } from '../../../test/support/workspace.ts';
import { mib } from '../../validation/schema.ts';
import { filesMax, uploadGate } from './bounds.ts';

const { userAtOnceMax } = uploadGate;

const pathOf = (id: string) => `/api/conversations/${id}/files`;

/** A conversation that counts as running, with a workspace. */
async function newRunning(service: TestService) {
  const { id, folder } = await newConversationFolder(service);
  putFiles(folder, { 'old.txt': 'old\n' });
  await inspect(service.storage, `update conversations set status = 'RUNNING' where id = '${id}'`);
  return { id, folder };
}

async function newWaiting(service: TestService): Promise<string> {
  return (await service.ask('/api/conversations', { json: {} })).body.conversation_id;
}

const piece = Buffer.alloc(mib, 'x');
function* mebibytes(count: number): Generator<Buffer> {
  for (let i = 0; i < count; i++) yield piece;
}

for (const kind of databaseKinds) {
  describe(`POST …/files on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    it('writes into the workspace of a running conversation, 200', async () => {
      const { id, folder } = await newRunning(service);
      const { status, body } = await uploadFiles(service, id, [
        ['a.txt', 'one'],
        ['old.txt', 'new\n'],
        ['Größe ✓.bin', Buffer.from([0, 255, 13, 10])],
      ]);
      assert.equal(status, 200);
      assert.deepEqual(body, {
        files: [
          { name: 'a.txt', path: '/workspace/a.txt' },
          { name: 'old.txt', path: '/workspace/old (1).txt' },
          { name: 'Größe ✓.bin', path: '/workspace/Größe ✓.bin' },
        ],
        skipped: [],
        staged: false,
      });
      assert.equal(readFileSync(join(folder, 'a.txt'), 'utf8'), 'one');
      assert.equal(readFileSync(join(folder, 'old.txt'), 'utf8'), 'old\n');
      assert.deepEqual([...readFileSync(join(folder, 'Größe ✓.bin'))], [0, 255, 13, 10]);
      assert.equal(readdirSync(folder).length, 4);
    });

    it('keeps files of a conversation that is not running, and forgets them with it, 200', async () => {
      const id = await newWaiting(service);
      const before = stagedUploads(service).length;
      const { status, body } = await uploadFiles(service, id, [['a.txt', 'one']]);
      assert.equal(status, 200);
      assert.deepEqual(body, {
        files: [{ name: 'a.txt', path: '/workspace/a.txt' }],
        skipped: [],
        staged: true,
      });
      assert.equal(stagedUploads(service).length, before + 1);
      assert.equal(statSync(join(service.storage.dataDir, 'uploads')).mode & 0o777, 0o700);
      assert.equal(await countRows(service.storage, 'uploads'), 1);
      await service.ask(`/api/conversations/${id}`, { method: 'DELETE' });
      assert.equal(await countRows(service.storage, 'uploads'), 0);
    });

    it('skips names that lead elsewhere, and says why, 200', async () => {
      const { id, folder } = await newRunning(service);
      const bad = ['../up.txt', '/etc/passwd', 'a/b.txt', '..', '.git', 'x'.repeat(300)];
      const { status, body } = await uploadFiles(service, id, [
        ...bad.map((name): NamedContent => [name, 'evil']),
        ['good.txt', 'good'],
      ]);
      assert.equal(status, 200);
      assert.deepEqual(body.files, [{ name: 'good.txt', path: '/workspace/good.txt' }]);
      assert.equal(body.skipped.length, bad.length);
      assert.match(body.skipped[0].reason, /folder/);
      assert.deepEqual(readdirSync(folder).toSorted(), ['good.txt', 'old.txt']);
      assert.equal(existsSync(join(folder, '../up.txt')), false);
    });

    it('does not follow links of the workspace', async () => {
      const { id, folder } = await newRunning(service);
      const outside = join(service.storage.dataDir, 'outside.txt');
      symlinkSync(outside, join(folder, 'link.txt'));
      const { body } = await uploadFiles(service, id, [['link.txt', 'evil']]);
      assert.deepEqual(body.files, [{ name: 'link.txt', path: '/workspace/link (1).txt' }]);
      assert.equal(existsSync(outside), false);
    });

    it('refuses what belongs to somebody else, what is missing and what may not write', async () => {
      const { id } = await newRunning(service);
      const keyOf = async (json: object) => (await service.ask('/api/keys', { json })).body.key as string;
      const other = await keyOf({ name: 'other', user: 'other', scopes: ['conversations:write'] });
      const reader = await keyOf({ name: 'reader', scopes: ['conversations:read'] });
      const files: NamedContent[] = [['a.txt', 'one']];
      assert.equal((await uploadFiles(service, id, files, { key: other })).status, 404);
      assert.equal((await uploadFiles(service, id, files, { key: reader })).status, 403);
      assert.equal((await uploadFiles(service, 'missing', files)).status, 404);
    });
  });
}

describe('an upload that is refused', () => {
  let service: TestService;
  before(async () => {
    service = await startService({});
  });
  after(() => service.stop());

  /** Nothing waits, whole or in part, and the workspace has only what it had. */
  async function assertNothingLeft(folder?: string) {
    await until('nothing is left', async () => stagedUploads(service).length === 0);
    if (folder !== undefined)
      await until('the workspace is clean', async () => readdirSync(folder).join() === 'old.txt');
    assert.equal(await countRows(service.storage, 'uploads'), 0);
  }

  it('has no file, another type or another field', async () => {
    const { id, folder } = await newRunning(service);
    const send = (raw: string | Buffer, headers: Record<string, string> = multipartType) =>
      service.ask(pathOf(id), { raw, headers });
    assert.equal((await send(multipartBody([]))).status, 422);
    assert.equal((await send('{}', { 'content-type': 'application/json' })).status, 415);
    assert.equal((await send('x', { 'content-type': 'multipart/form-data' })).status, 415);
    const { status, body } = await send(multipartBody([['a.txt', 'one']], 'documents'));
    assert.equal(status, 422);
    assert.match(body.error, /"files"/);
    await assertNothingLeft(folder);
  });

  it('is malformed or cut short, 400', async () => {
    const { id, folder } = await newRunning(service);
    const whole = multipartBody([
      ['a.txt', 'one'],
      ['b.txt', 'two'],
    ]);
    for (const raw of [Buffer.from('no boundary at all'), whole.subarray(0, whole.length - 30)]) {
      const { status, body } = await service.ask(pathOf(id), { raw, headers: multipartType });
      assert.deepEqual([status, body.code], [400, 'malformed_request']);
    }
    await assertNothingLeft(folder);
  });

  it('ends within the headers of a part, again and again, 400', async (t) => {
    const service = await startService({}, t);
    const id = await newWaiting(service);
    const [head = ''] = multipartBody([['q', '']])
      .toString()
      .split('\r\n\r\n');
    const raw = `${head}\r\n--parley-test-boundary--\r\n`;
    const all = await Promise.all(
      Array.from({ length: userAtOnceMax }, () => service.ask(pathOf(id), { raw, headers: multipartType })),
    );
    assert.deepEqual(
      all.map(({ status, body }) => [status, body.code]),
      Array.from({ length: userAtOnceMax }, () => [400, 'malformed_request']),
    );
    assert.deepEqual(stagedUploads(service), []);
    assert.equal((await uploadFiles(service, id, [['a.txt', 'one']])).status, 200);
  });

  it('is left by its client at once, again and again, and does not block later ones', async (t) => {
    const service = await startService({}, t);
    const id = await newWaiting(service);
    for (let i = 0; i < userAtOnceMax; i++) {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
      const headers = [
        `POST ${pathOf(id)} HTTP/1.1`,
        'Host: 127.0.0.1',
        `X-Session-API-Key: ${service.key}`,
        `Content-Type: ${multipartType['content-type']}`,
        'Content-Length: 9999',
      ];
      socket.end(`${headers.join('\r\n')}\r\n\r\n--parley`, () => socket.destroy());
      await once(socket, 'close');
    }
    await until('the next one is accepted', async () => {
      const { status } = await uploadFiles(service, id, [['a.txt', 'one']]);
      return status === 200;
    });
  });

  for (const isRunning of [true, false]) {
    const where = isRunning ? 'for a running conversation' : 'that would wait';
    const create = async () =>
      isRunning ? newRunning(service) : { id: await newWaiting(service), folder: undefined };

    it(`has a file of 1 GiB, of which the rest is not read, ${where}, 413`, async () => {
      const { id, folder } = await create();
      const { status, body, sentBytes } = await streamUpload(service, pathOf(id), mebibytes(1_024));
      assert.deepEqual([status, body.code], [413, 'body_too_large']);
      assert.ok(sentBytes < 512 * mib, `${sentBytes} bytes were read`);
      await assertNothingLeft(folder);
    });

    it(`has 1,000 files, ${where}, 413`, async () => {
      const { id, folder } = await create();
      const files = Array.from({ length: 1_000 }, (_, i): NamedContent => [`${i}.txt`, 'x'.repeat(1_000)]);
      const { status, body } = await uploadFiles(service, id, files);
      assert.deepEqual([status, body.code], [413, 'body_too_large']);
      assert.match(body.error, new RegExp(`${filesMax} files`));
      await assertNothingLeft(folder);
    });

    it(`is left by its client, ${where}`, async () => {
      const { id, folder } = await create();
      const leaving = new AbortController();
      async function* slowly() {
        yield piece;
        yield piece;
        await until('the service has begun', async () =>
          folder === undefined ? stagedUploads(service).length > 0 : readdirSync(folder).length > 1,
        );
        leaving.abort();
        yield piece;
      }
      await assert.rejects(streamUpload(service, pathOf(id), slowly(), leaving.signal), {
        name: 'AbortError',
      });
      await assertNothingLeft(folder);
    });
  }

  it('exceeds what the workspace may hold, 422', async (t) => {
    const small = await startService({ env: { PARLEY_WORKSPACE_MB: '5' } }, t);
    const { id, folder } = await newRunning(small);
    const { status, body } = await uploadFiles(small, id, [['large.bin', Buffer.alloc(6 * mib)]]);
    assert.deepEqual([status, body.code], [422, 'limit_reached']);
    assert.match(body.error, /PARLEY_WORKSPACE_MB/);
    assert.deepEqual(readdirSync(folder), ['old.txt']);
    assert.equal((await uploadFiles(small, id, [['fits.bin', Buffer.alloc(mib)]])).status, 200);
  });

  it('is one of too many at once, 503, while others are served', async () => {
    const { id, folder } = await newRunning(service);
    const { id: waiting } = await newRunning(service);
    const over = Promise.withResolvers<void>();
    async function* slowly() {
      yield piece;
      await over.promise;
    }
    const slow = Array.from({ length: 4 }, () => streamUpload(service, pathOf(id), slowly()));
    await until('all four are being written', async () => readdirSync(folder).length === 5);
    const { status, body } = await uploadFiles(service, waiting, [['a.txt', 'one']]);
    assert.deepEqual([status, body.code], [503, 'overloaded']);
    assert.equal((await service.ask(`/api/conversations/${id}/list-files`)).status, 200);
    assert.equal((await service.ask('/api/settings')).status, 200);
    over.resolve();
    for (const { status } of await Promise.all(slow)) assert.equal(status, 200);
  });

  it('waits with too many others of its conversation, 422', async () => {
    const id = await newWaiting(service);
    const files = Array.from({ length: filesMax }, (_, i): NamedContent => [`${i}.txt`, 'x']);
    for (let i = 0; i < 10; i++) assert.equal((await uploadFiles(service, id, files)).status, 200);
    const staged = stagedUploads(service).length;
    const { status, body } = await uploadFiles(service, id, [['one-more.txt', 'x']]);
    assert.deepEqual([status, body.code], [422, 'limit_reached']);
    assert.equal(stagedUploads(service).length, staged);
  });
});
