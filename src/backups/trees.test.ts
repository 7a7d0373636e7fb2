// Files of conversations come back as they were, and nothing else is read or written.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createByteReader } from './byteReader.ts';
import { readTree } from './readTree.ts';
import { paddingOf, readTarHeader, tarEnd } from './tar.ts';
import { createTreeWriter } from './writeTree.ts';

interface Folders {
  readonly from: string;
  readonly to: string;
}

function createFolders(t: { after(fn: () => void): void }): Folders {
  const top = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(() => {
    execFileSync('chmod', ['-R', 'u+rwX', top]);
    rmSync(top, { recursive: true });
  });
  const folders = { from: join(top, 'from'), to: join(top, 'to') };
  mkdirSync(folders.from);
  mkdirSync(folders.to);
  return folders;
}

interface Limits {
  readonly bytesMax?: number;
  readonly entriesMax?: number;
}

/** Returns what was left out. */
async function copy({ from, to }: Folders, limits: Limits = {}): Promise<string[]> {
  const leftOut: string[] = [];
  const tree = readTree(from, 'x', {
    ...{ bytesMax: 1e9, entriesMax: 1e6, ...limits },
    onLeftOut: (path, why) => leftOut.push(`${path}: ${why}`),
    onEntry: () => {},
  });
  async function* bytes() {
    yield* tree;
    yield tarEnd;
  }
  const reader = createByteReader(bytes());
  const writer = createTreeWriter(to);
  for (let next = await readTarHeader(reader); next !== undefined; next = await readTarHeader(reader)) {
    const content = await reader.take(next.entry.bytes);
    await reader.take(paddingOf(next.entry.bytes).length);
    async function* whole() {
      yield content;
    }
    await writer.write(next.entry, whole());
  }
  await writer.finish();
  return leftOut;
}

describe('the files of a conversation', () => {
  it('come back with their contents, modes, times, links and names of any bytes', async (t) => {
    const folders = createFolders(t);
    const { from } = folders;
    mkdirSync(join(from, 'a/b'), { recursive: true });
    writeFileSync(join(from, 'a/b/run.sh'), 'echo\n', { mode: 0o755 });
    utimesSync(join(from, 'a/b/run.sh'), 1_600_000_000, 1_600_000_000);
    writeFileSync(
      Buffer.concat([Buffer.from(`${from}/`), Buffer.from([0xff, 0x20, 0x0a, 0xfe])]),
      'odd name',
    );
    writeFileSync(join(from, 'ü'.repeat(100)), Buffer.alloc(3_000_000, 'z'));
    symlinkSync('../../nowhere', join(from, 'a/link'));
    mkdirSync(join(from, 'locked'));
    writeFileSync(join(from, 'locked/in it'), 'x');
    chmodSync(join(from, 'locked'), 0o500);
    assert.deepEqual(await copy(folders), []);
    const to = join(folders.to, 'x');
    const names = (folder: string) => readdirSync(folder, { encoding: 'latin1', recursive: true }).sort();
    assert.deepEqual(names(to), names(from));
    const found = lstatSync(join(to, 'a/b/run.sh'));
    assert.deepEqual([found.mode & 0o777, found.mtimeMs], [0o755, 1_600_000_000_000]);
    assert.equal(readlinkSync(join(to, 'a/link')), '../../nowhere');
    assert.ok(readFileSync(join(to, 'ü'.repeat(100))).equals(Buffer.alloc(3_000_000, 'z')));
    assert.equal(lstatSync(join(to, 'locked')).mode & 0o777, 0o500);
  });

  it('lose bits that would let others act as the owner', async (t) => {
    const folders = createFolders(t);
    writeFileSync(join(folders.from, 'program'), '');
    chmodSync(join(folders.from, 'program'), 0o6755);
    await copy(folders);
    assert.equal(lstatSync(join(folders.to, 'x/program')).mode & 0o7777, 0o755);
  });

  it('are not read through a link, even if it replaces a folder meanwhile', async (t) => {
    const folders = createFolders(t);
    const { from, to } = folders;
    const secrets = join(to, '../secrets');
    mkdirSync(secrets);
    writeFileSync(join(secrets, 'secret'), 'SECRET');
    mkdirSync(join(from, 'folder'));
    writeFileSync(join(from, 'folder/first'), '1');
    writeFileSync(join(from, 'folder/secret'), 'mine');
    let all = '';
    const options = { bytesMax: 1e9, entriesMax: 1e6, onLeftOut: () => {}, onEntry: () => {} };
    for (const piece of readTree(from, 'x', options)) {
      all += piece.toString('latin1');
      if (!piece.includes('x/folder/first') || !existsSync(join(from, 'folder/first'))) continue;
      renameSync(join(from, 'folder'), join(from, 'moved'));
      symlinkSync(secrets, join(from, 'folder'));
    }
    assert.ok(all.includes('mine'), 'the rest of the folder that was open');
    assert.ok(!all.includes('SECRET'));
  });

  it('that are pipes or sockets do not hold up the backup', async (t) => {
    const folders = createFolders(t);
    execFileSync('mkfifo', [join(folders.from, 'pipe')]);
    writeFileSync(join(folders.from, 'file'), 'x');
    assert.deepEqual(await copy(folders), []);
    assert.deepEqual(readdirSync(join(folders.to, 'x')), ['file']);
  });

  it('are left out and named where they exceed the limits, such as a file with a huge hole', async (t) => {
    const folders = createFolders(t);
    writeFileSync(join(folders.from, 'hole'), '');
    truncateSync(join(folders.from, 'hole'), 2 ** 40);
    writeFileSync(join(folders.from, 'small'), 'x');
    const [leftOut, ...more] = await copy(folders, { bytesMax: 1_000 });
    assert.match(leftOut ?? '', /^x\/hole: the files of the conversation are larger/);
    assert.deepEqual(more, []);
    assert.deepEqual(readdirSync(join(folders.to, 'x')), ['small']);
  });
});
