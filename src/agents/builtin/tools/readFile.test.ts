import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openBench } from '../../../../test/support/tools.ts';
import { createFileTools } from './files.ts';

function open(t: TestContext) {
  const bench = openBench(t, createFileTools());
  return {
    ...bench,
    put: (path: string, content: string | Buffer) => writeFileSync(join(bench.cwd, path), content),
    read: (path: string, more: object = {}) => bench.run('read_file', { path, ...more }),
  };
}

/** The smallest possible image. */
const gif = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAAC', 'base64');

describe('read_file', () => {
  it('numbers the lines', async (t) => {
    const { put, read, cwd } = open(t);
    put('a.txt', 'one\n\nthree\n');
    assert.deepEqual(await read('a.txt'), { text: '1\tone\n2\t\n3\tthree' });
    put('b.txt', '\uFEFFno end');
    assert.equal((await read(join(cwd, 'b.txt'))).text, '1\tno end');
  });

  it('returns a part, and shows where to continue', async (t) => {
    const { put, read } = open(t);
    put('a.txt', 'one\ntwo\nthree\nfour\n');
    const part = await read('a.txt', { offset: 2, limit: 2 });
    assert.equal(part.text, '2\ttwo\n3\tthree\n[there is more: go on with offset 4]');
    assert.equal((await read('a.txt', { offset: 4, limit: 1 })).text, '4\tfour');
    assert.deepEqual(await read('a.txt', { offset: 9 }), {
      text: 'a.txt has only 4 lines: give a smaller offset.',
      failed: true,
    });
  });

  it('limits long lines and long files, and loses no line between two parts', async (t) => {
    const { put, read } = open(t);
    put('long.txt', `${'é'.repeat(100_000)}\nshort\n`);
    assert.equal((await read('long.txt')).text, `1\t${'é'.repeat(2_000)} … (line cut)\n2\tshort`);
    const lines = Array.from({ length: 3_000 }, (_, i) => `${i + 1}\t${'y'.repeat(60)}`);
    put('many.txt', lines.map((line) => line.split('\t')[1]).join('\n'));
    const seen: string[] = [];
    for (let offset = 1; seen.length < 3_000; offset = seen.length + 1) {
      const { text } = await read('many.txt', { offset, limit: 5_000 });
      assert.ok(text.length < 51_000);
      seen.push(...text.split('\n').filter((line) => !line.startsWith('[')));
    }
    assert.deepEqual(seen, lines);
  });

  it('finds a line that is far into a file', async (t) => {
    const { put, read } = open(t);
    const line = `${'z'.repeat(199)}\n`;
    put('far.txt', `${line.repeat(20_000)}here\n`);
    assert.equal((await read('far.txt', { offset: 20_001 })).text, '20001\there');
  });

  it('mentions CRLF and other encodings', async (t) => {
    const { put, read } = open(t);
    put('crlf.txt', 'one\r\ntwo\r\n');
    assert.match((await read('crlf.txt')).text, /^1\tone\n2\ttwo\n\[its lines end with CRLF/);
    put('latin1.txt', Buffer.from('caf\xe9\n', 'latin1'));
    assert.match((await read('latin1.txt')).text, /^1\tcaf\uFFFD\n\[it is not in UTF-8/);
  });

  it('lists a folder', async (t) => {
    const { put, read, cwd } = open(t);
    mkdirSync(join(cwd, 'src/deep'), { recursive: true });
    put('src/b.ts', '');
    put('src/a.ts', '');
    symlinkSync('a.ts', join(cwd, 'src/link'));
    assert.equal((await read('src')).text, 'src is a folder:\na.ts\nb.ts\ndeep/\nlink@');
    assert.equal((await read('src/deep')).text, 'src/deep is a folder:\n(empty)');
    for (let i = 0; i < 510; i += 1) put(`src/deep/${i}`, '');
    assert.match((await read('src/deep')).text, /\n\[… 10 entries left out: use find_files\]$/);
  });

  it('recognizes images by their content, not by their name', async (t) => {
    const { put, read } = open(t);
    put('picture', gif);
    const { text, image } = await read('picture');
    assert.equal(text, `picture: image/gif, ${gif.length} bytes.`);
    assert.deepEqual(image, { mimeType: 'image/gif', data: gif.toString('base64') });
    put('large.png', Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(3_000_000)]));
    assert.match((await read('large.png')).text, /more than the 3000000 that can be shown/);
  });

  it('refuses binary and missing files, and invalid paths', async (t) => {
    const { put, read } = open(t);
    put('program', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2]));
    put('empty', '');
    assert.deepEqual(await read('program'), {
      text: 'program is a binary file of 7 bytes. Use bash (file, strings, xxd).',
      failed: true,
    });
    assert.equal((await read('empty')).text, 'empty is empty.');
    assert.equal((await read('no/such')).text, 'There is no no/such. Look for it with find_files.');
    assert.match((await read('program/x')).text, /a part of its path is a file/);
    assert.match((await read('nul\0')).text, /null bytes/);
  });

  it('does not wait for a pipe or a device', async (t) => {
    const { read, cwd } = open(t);
    execFileSync('mkfifo', [join(cwd, 'pipe')]);
    assert.equal((await read('pipe')).text, 'pipe is a named pipe, which is not read.');
    assert.equal((await read('/dev/zero')).text, '/dev/zero is a device, which is not read.');
  });
});
