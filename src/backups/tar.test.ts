import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { createByteReader } from './byteReader.ts';
import { paddingOf, readTarHeader, type TarEntry, tarEnd, tarHeader } from './tar.ts';

async function* whole(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

const read = async (bytes: Buffer) => (await readTarHeader(createByteReader(whole(bytes))))?.entry;

function file(path: string, bytes = 0): TarEntry {
  return { path, kind: 'file', bytes, mode: 0o640, modifiedS: 1_700_000_000 };
}

const entries: readonly TarEntry[] = [
  file('a'),
  file('with blanks and \xff\xfe bytes', 3),
  file(`long/${'x'.repeat(200)}/${'y'.repeat(200)}`, 600),
  file('huge', 9 * 2 ** 30),
  { ...file('folder'), kind: 'folder', mode: 0o700 },
  { ...file('link'), kind: 'link', mode: 0o777, target: '../elsewhere' },
  { ...file('long link'), kind: 'link', mode: 0o777, target: `/${'z/'.repeat(300)}` },
];

describe('the tar format', () => {
  it('reads entries as they were written', async () => {
    for (const entry of entries) assert.deepEqual(await read(tarHeader(entry)), entry);
    assert.equal(await read(tarEnd), undefined);
  });

  it('is understood by the tar of the system', () => {
    const members = entries
      .filter(({ bytes }) => bytes < 1_000)
      .flatMap((entry) => [tarHeader(entry), Buffer.alloc(entry.bytes, 'c'), paddingOf(entry.bytes)]);
    const listed = execFileSync('tar', ['--list', '--file=-', '--quoting-style=escape'], {
      input: Buffer.concat([...members, tarEnd]),
      encoding: 'utf8',
    });
    const names = listed.trimEnd().split('\n');
    assert.deepEqual(
      [names[0], names[1], names[2]?.length, ...names.slice(3)],
      ['a', 'with blanks and \\377\\376 bytes', 406, 'folder/', 'link', 'long link'],
    );
  });

  it('refuses devices, pipes, hard links, sparse files and other kinds', async () => {
    for (const type of ['1', '3', '4', '6', '7', 'S', 'L', 'K', 'g', '\0']) {
      const header = tarHeader(file('a'));
      const before = header[156] ?? 0;
      header.write(type, 156, 'latin1');
      // The checksum has to be right, or the header is refused for that.
      const sum = Number.parseInt(header.toString('latin1', 148, 154), 8) - before + type.charCodeAt(0);
      header.write(sum.toString(8).padStart(6, '0'), 148, 'latin1');
      await assert.rejects(read(header), /neither a file nor a folder nor a link/, JSON.stringify(type));
    }
  });

  it('refuses damaged headers, and ones that announce too much', async () => {
    const header = tarHeader(file('a'));
    header[0] = 98;
    await assert.rejects(read(header), /a header is damaged/);
    const long = tarHeader({ ...file('x'), kind: 'link', target: 'y'.repeat(20_000) });
    await assert.rejects(read(long), /a header is too long/);
    await assert.rejects(read(tarHeader({ ...file('f', 5), kind: 'folder' })), /a header is damaged/);
  });
});
