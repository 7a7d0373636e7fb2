import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makeFolder, openWriteSandbox } from '../../../test/support/workspace.ts';
import { toFrames } from './frames.ts';
import { partialPrefix } from './inside/request.ts';
import { writeFiles } from './writeFiles.ts';

async function* bytes(...pieces: string[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece);
}

async function* filesOf(files: readonly (readonly [string, string])[]) {
  for (const [name, content] of files) yield { name, content: bytes(content) };
}

async function put(folder: string, ...files: (readonly [string, string])[]) {
  const sandbox = await openWriteSandbox(folder);
  return (await writeFiles(sandbox, toFrames(filesOf(files)))).map(({ name }) => name);
}

describe('files that are written into a workspace', () => {
  it('arrive with their content, and leave nothing else behind', async (t) => {
    const folder = makeFolder(t);
    const large = 'x'.repeat(3_000_000);
    assert.deepEqual(await put(folder, ['a.txt', 'one'], ['empty', ''], ['large.bin', large]), [
      'a.txt',
      'empty',
      'large.bin',
    ]);
    assert.equal(readFileSync(join(folder, 'a.txt'), 'utf8'), 'one');
    assert.equal(readFileSync(join(folder, 'empty'), 'utf8'), '');
    assert.equal(readFileSync(join(folder, 'large.bin'), 'utf8'), large);
    assert.equal(readdirSync(folder).length, 3);
  });

  it('get a number if their name is taken by a file, folder or link, which stays as it is', async (t) => {
    const folder = makeFolder(t);
    const outside = makeFolder(t);
    writeFileSync(join(folder, 'a.txt'), 'old');
    mkdirSync(join(folder, 'folder'));
    writeFileSync(join(outside, 'target'), 'precious');
    symlinkSync(join(outside, 'target'), join(folder, 'link.txt'));
    symlinkSync(join(outside, 'not there'), join(folder, 'dangling'));
    const names = await put(
      folder,
      ...(['a.txt', 'a.txt', 'folder', 'link.txt', 'dangling'] as const).map(
        (name, i) => [name, `new ${i}`] as const,
      ),
    );
    assert.deepEqual(names, ['a (1).txt', 'a (2).txt', 'folder (1)', 'link (1).txt', 'dangling (1)']);
    assert.equal(readFileSync(join(folder, 'a.txt'), 'utf8'), 'old');
    assert.equal(readFileSync(join(outside, 'target'), 'utf8'), 'precious');
    assert.deepEqual(readdirSync(outside), ['target']);
    assert.equal(readlinkSync(join(folder, 'dangling')), join(outside, 'not there'));
    assert.ok(lstatSync(join(folder, 'link (1).txt')).isFile());
  });

  it('are not written again if the same file is there, so that an upload can be repeated', async (t) => {
    const folder = makeFolder(t);
    const content = 'y'.repeat(200_000);
    assert.deepEqual(await put(folder, ['a.txt', content]), ['a.txt']);
    assert.deepEqual(await put(folder, ['a.txt', content]), ['a.txt']);
    assert.deepEqual(await put(folder, ['a.txt', `${content.slice(1)}z`]), ['a (1).txt']);
    assert.deepEqual(readdirSync(folder).toSorted(), ['a (1).txt', 'a.txt']);
  });

  it('are not kept if their frames end early or fail', async (t) => {
    const folder = makeFolder(t);
    async function* broken() {
      yield { name: 'whole.txt', content: bytes('whole') };
      yield { name: 'half.txt', content: bytes('half') };
      throw new Error('the client left');
    }
    await assert.rejects(writeFiles(await openWriteSandbox(folder), toFrames(broken())), /the client left/);
    assert.deepEqual(readdirSync(folder), []);

    async function* cut() {
      for await (const frame of toFrames(filesOf([['a.txt', 'one']]))) {
        if (frame[0] === 3) return;
        yield frame;
      }
    }
    await assert.rejects(writeFiles(await openWriteSandbox(folder), cut()), /ended with 0/);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('remove what a killed upload left long ago, and nothing else', async (t) => {
    const folder = makeFolder(t);
    const [old, recent] = [`${partialPrefix}old`, `${partialPrefix}recent`];
    for (const name of [old, recent, 'kept.txt']) writeFileSync(join(folder, name), '');
    for (const name of [old, 'kept.txt']) utimesSync(join(folder, name), 1, 1);
    await put(folder, ['a.txt', 'one']);
    assert.deepEqual(readdirSync(folder).toSorted(), [recent, 'a.txt', 'kept.txt'].toSorted());
  });

  it('are all taken back if one of them cannot be placed', async (t) => {
    const folder = makeFolder(t);
    writeFileSync(join(folder, 'b.txt'), 'taken');
    for (let i = 1; i < 1_000; i++) writeFileSync(join(folder, `b (${i}).txt`), 'taken');
    const before = readdirSync(folder).length;
    await assert.rejects(put(folder, ['a.txt', 'one'], ['b.txt', 'two']), { code: 'limit_reached' });
    assert.equal(existsSync(join(folder, 'a.txt')), false);
    assert.equal(readdirSync(folder).length, before);
  });
});
