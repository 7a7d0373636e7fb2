import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../../test/support/databases.ts';
import { startService, type TestService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { cloneInto, newConversationFolder, putFiles } from '../../../test/support/workspace.ts';
import { readZip } from '../../../test/support/zip.ts';
import { mib } from '../../validation/schema.ts';
import { compileCheck } from '../../validation/validation.ts';
import { changesExample, diffExample, fileExample, filesExample } from './examples.ts';
import { FileList, GitChanges, GitDiff, SelectedFile } from './schema.ts';

const routes = [
  'git/changes',
  'git/diff?path=a.txt',
  'list-files',
  'select-file?file=a.txt',
  'zip-directory',
];

for (const kind of databaseKinds) {
  describe(`a conversation's workspace on ${kind}`, () => {
    let service: TestService;
    let id: string;
    let folder: string;
    before(async () => {
      service = await startService({ kind });
      ({ id, folder } = await newConversationFolder(service));
      cloneInto(folder, { 'a.txt': 'one\n', 'gone.txt': 'gone\n', 'src/main.js': 'run()\n' });
      putFiles(folder, {
        'a.txt': 'two\n',
        'new/file.txt': 'new\n',
        'image.png': Buffer.from([137, 0, 255]),
      });
      rmSync(join(folder, 'gone.txt'));
      chmodSync(join(folder, 'src/main.js'), 0o755);
      symlinkSync('/etc', join(folder, 'out'));
    });
    after(() => service.stop());

    const ask = (rest: string, key?: string) =>
      service.ask(`/api/conversations/${id}/${rest}`, key === undefined ? {} : { key });

    it('GET …/git/changes lists what differs from origin, 200', async () => {
      const { status, body } = await ask('git/changes');
      assert.equal(status, 200);
      assert.deepEqual(body, [
        { status: 'M', path: 'a.txt' },
        { status: 'D', path: 'gone.txt' },
        { status: 'A', path: 'image.png' },
        { status: 'A', path: 'new/file.txt' },
        { status: 'A', path: 'out' },
        { status: 'M', path: 'src/main.js' },
      ]);
    });

    it('GET …/git/diff returns a file before and after, 200', async () => {
      assert.deepEqual((await ask('git/diff?path=a.txt')).body, { modified: 'two\n', original: 'one\n' });
      assert.deepEqual((await ask('git/diff?path=gone.txt')).body, { modified: '', original: 'gone\n' });
      assert.deepEqual((await ask('git/diff?path=new%2Ffile.txt')).body, { modified: 'new\n', original: '' });
    });

    it('GET …/list-files returns a folder, folders first, 200', async () => {
      const top = ['new/', 'src/', 'a.txt', 'image.png', 'out'];
      assert.deepEqual((await ask('list-files')).body, top);
      assert.deepEqual((await ask('list-files?path=')).body, top);
      assert.deepEqual((await ask('list-files?path=src/')).body, ['src/main.js']);
    });

    it('GET …/select-file returns a text, 200', async () => {
      assert.deepEqual((await ask('select-file?file=./src/main.js')).body, { code: 'run()\n' });
    });

    it('accepts paths below /workspace, as existing clients send them', async () => {
      const top = (await ask('list-files')).body;
      assert.deepEqual((await ask('list-files?path=/workspace')).body, top);
      assert.deepEqual((await ask('list-files?path=/workspace/')).body, top);
      assert.deepEqual((await ask('list-files?path=/workspace/src')).body, ['src/main.js']);
      assert.deepEqual((await ask('select-file?file=/workspace/src/main.js')).body, { code: 'run()\n' });
      assert.equal((await ask('git/diff?path=/workspace/a.txt')).body.modified, 'two\n');
      for (const path of ['/workspace/../etc/passwd', '/etc/passwd', '/workspaces/a.txt'])
        assert.equal((await ask(`select-file?file=${path}`)).status, 422, path);
    });

    it('refuses binary files with 415 and its own code', async () => {
      for (const route of ['select-file?file=image.png', 'git/diff?path=image.png']) {
        const { status, body } = await ask(route);
        assert.equal(status, 415, route);
        assert.equal(body.code, 'binary_file');
      }
    });

    it('returns 404 for what is missing, and for what a link leads out to', async () => {
      const missing = [
        'list-files?path=no',
        'list-files?path=a.txt',
        'select-file?file=no',
        'git/diff?path=no',
      ];
      for (const route of [
        ...missing,
        'list-files?path=out',
        'select-file?file=out/passwd',
        'select-file?file=src',
      ]) {
        const { status, body } = await ask(route);
        assert.equal(status, 404, route);
        assert.equal(body.code, 'not_found');
      }
    });

    it('GET …/zip-directory returns an archive without links and repository, 200', async () => {
      const response = await fetch(`${service.url}/api/conversations/${id}/zip-directory`, {
        headers: { 'x-session-api-key': service.key },
      });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'application/zip');
      assert.equal(response.headers.get('content-disposition'), 'attachment; filename="workspace.zip"');
      const zipped = readZip(Buffer.from(await response.arrayBuffer()));
      assert.deepEqual(
        zipped.map(({ name, mode, content }) => [name.toString(), mode, content.toString('latin1')]),
        [
          ['a.txt', 0o100644, 'two\n'],
          ['image.png', 0o100644, '\x89\x00\xff'],
          ['new/', 0o040755, ''],
          ['new/file.txt', 0o100644, 'new\n'],
          ['src/', 0o040755, ''],
          ['src/main.js', 0o100755, 'run()\n'],
        ],
      );
    });

    it('does not exist for somebody else, 404, and is closed to a key without conversations:read, 403', async () => {
      const other = await service.ask('/api/keys', { json: { name: 'k', user: 'somebody' } });
      const narrow = await service.ask('/api/keys', { json: { name: 'k', scopes: ['settings:read'] } });
      for (const route of routes) {
        const { status, body } = await ask(route, other.body.key);
        assert.equal(status, 404, route);
        assert.equal(body.error, 'This conversation does not exist.');
        assert.equal((await ask(route, narrow.body.key)).status, 403, route);
      }
    });

    it('returns 404 with its own code if there is no workspace', async () => {
      const { body: made } = await service.ask('/api/conversations', { json: {} });
      for (const route of routes) {
        const { status, body } = await service.ask(`/api/conversations/${made.conversation_id}/${route}`);
        assert.equal(status, 404, route);
        assert.equal(body.code, 'no_workspace');
      }
    });

    it('returns 404 with its own code if there is no repository', async () => {
      const plain = await newConversationFolder(service);
      mkdirSync(plain.folder);
      for (const route of ['git/changes', 'git/diff?path=a.txt']) {
        const { status, body } = await service.ask(`/api/conversations/${plain.id}/${route}`);
        assert.equal(status, 404);
        assert.equal(body.code, 'no_repository');
        assert.match(body.error, /not a Git repository/, 'what older clients look for');
      }
    });

    it('refuses bad paths with 422 and the path of the error', async () => {
      const long = 'x'.repeat(4_097);
      const paths = ['%00', '/etc/passwd', '..', 'a/../../b', long, 'a&@=b'];
      for (const [route, name] of [
        ['git/diff', 'path'],
        ['list-files', 'path'],
        ['select-file', 'file'],
      ]) {
        for (const path of paths) {
          const { status, body } = await ask(`${route}?${name}=${path.replace('@', name ?? '')}`);
          assert.equal(status, 422, `${route} ${path}`);
          assert.equal(body.details[0].path, name);
        }
      }
      const { body } = await ask('list-files?path=a&path=b');
      assert.equal(body.error, 'path must be sent only once.');
      for (const route of ['git/diff', 'select-file', 'git/diff?path=', 'select-file?file='])
        assert.equal((await ask(route)).status, 422, route);
    });

    it('allows two downloads of a user at once, and ends those that nobody reads', async () => {
      const large = await newConversationFolder(service);
      putFiles(large.folder, { 'noise.bin': randomBytes(16 * mib) });
      const url = `${service.url}/api/conversations/${large.id}/zip-directory`;
      const controllers = [new AbortController(), new AbortController()];
      const begin = (signal?: AbortSignal) =>
        fetch(url, {
          headers: { 'x-session-api-key': service.key },
          ...(signal === undefined ? {} : { signal }),
        });
      // Kept: what nobody holds any more, `fetch` closes.
      const held = [];
      for (const { signal } of controllers) held.push(await begin(signal));
      const refused = await begin();
      assert.equal(refused.status, 503);
      assert.equal(((await refused.json()) as { code: string }).code, 'overloaded');
      assert.deepEqual(
        held.map(({ status }) => status),
        [200, 200],
      );
      for (const controller of controllers) controller.abort();
      const third = await until('a download may begin again', async () => {
        const response = await begin();
        if (response.status === 200) return response;
        await response.arrayBuffer();
        return undefined;
      });
      assert.ok((await third.arrayBuffer()).byteLength > 16 * mib);
      const unexpected = service.logs().match(/.*"level":"(?:error|fatal)".*/g) ?? [];
      assert.deepEqual(unexpected, []);
    });
  });
}

describe('the examples of a workspace', () => {
  it('pass their own schemas', () => {
    assert.equal(compileCheck(GitChanges)(changesExample), undefined);
    assert.equal(compileCheck(GitDiff)(diffExample), undefined);
    assert.equal(compileCheck(FileList)(filesExample), undefined);
    assert.equal(compileCheck(SelectedFile)(fileExample), undefined);
  });
});
