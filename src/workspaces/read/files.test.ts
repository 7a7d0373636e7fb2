import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { git, look, makeFolder, openInspectionSandbox, putFiles } from '../../../test/support/workspace.ts';
import { readZip } from '../../../test/support/zip.ts';
import type { OpenSandbox, SandboxProcess } from '../../sandbox/openSandbox.ts';
import { mib } from '../../validation/schema.ts';
import { inspectionBounds } from './bounds.ts';
import { download } from './download.ts';
import type { InstructionFile } from './inside/request.ts';
import { zip } from './inside/zip.ts';
import { toMicroagents } from './microagents.ts';

const list = (workspace: string, path = '.', bounds = {}) =>
  look(workspace, { command: 'list', path }, bounds);
const read = (workspace: string, path: string, bounds = {}) =>
  look(workspace, { command: 'read', path }, bounds);

async function archive(workspace: string, bounds = {}): Promise<Buffer> {
  const sandbox = await openInspectionSandbox(workspace);
  const { signal } = new AbortController();
  return buffer(
    await download(
      sandbox,
      { command: 'zip' },
      { ...inspectionBounds, ...bounds },
      signal,
      () => void sandbox.close(),
    ),
  );
}

/** A workspace with a secret beside it. */
function createFolders(t: TestContext): { workspace: string; outside: string } {
  const folder = realpathSync(makeFolder(t));
  const [workspace, outside] = [join(folder, 'workspace'), join(folder, 'outside')];
  mkdirSync(workspace);
  putFiles(outside, { 'secret.txt': 'secret' });
  return { workspace, outside };
}

const missing = { code: 'not_found' };
const tooLarge = { code: 'answer_too_large' };

describe('the files that instruct agents', () => {
  it('are read with their triggers, without links that lead out', async (t) => {
    const folder = makeFolder(t);
    const outside = makeFolder(t);
    writeFileSync(join(outside, 'secret.md'), 'secret');
    putFiles(folder, {
      'AGENTS.md': 'Be brief.',
      '.openhands/microagents/b.md': '---\ntriggers: [deploy, "ship it"]\n---\nUse make.\n',
      '.openhands/microagents/a.md': 'Always.',
      '.openhands/microagents/large.md': 'x'.repeat(100_000),
      '.openhands/microagents/other.txt': 'no microagent',
      '.openhands/microagents/folder.md/a.md': 'a folder',
    });
    symlinkSync(join(outside, 'secret.md'), join(folder, '.openhands/microagents/link.md'));
    const files = (await look(folder, { command: 'microagents' })) as InstructionFile[];
    const { microagents } = toMicroagents(files);
    const always = { type: 'repo', triggers: [], inputs: [], tools: [] };
    assert.deepEqual(microagents, [
      { ...always, name: 'AGENTS', content: 'Be brief.' },
      { ...always, name: 'a', content: 'Always.' },
      { ...always, name: 'b', type: 'knowledge', content: 'Use make.', triggers: ['deploy', 'ship it'] },
      { ...always, name: 'large', content: 'x'.repeat(32_768) },
    ]);
    assert.deepEqual(await look(makeFolder(t), { command: 'microagents' }), []);
  });
});

describe('links in a workspace', () => {
  /** Each a path to the secret, or to the folder that it is in. */
  function linkOut({ workspace, outside }: { workspace: string; outside: string }): void {
    symlinkSync(join(outside, 'secret.txt'), join(workspace, 'file'));
    symlinkSync('../outside/secret.txt', join(workspace, 'relative'));
    symlinkSync(outside, join(workspace, 'folder'));
    mkdirSync(join(workspace, 'deep'));
    symlinkSync('../folder', join(workspace, 'deep/first'));
    symlinkSync('deep/first', join(workspace, 'chain'));
    symlinkSync('loop', join(workspace, 'loop'));
    // A folder whose name begins as the workspace's does.
    mkdirSync(`${workspace}-too`);
    putFiles(`${workspace}-too`, { 'secret.txt': 'secret' });
    symlinkSync(`${workspace}-too`, join(workspace, 'neighbour'));
  }

  it('are not followed out', async (t) => {
    const folders = createFolders(t);
    linkOut(folders);
    const { workspace } = folders;
    const files = [
      'file',
      'relative',
      'folder/secret.txt',
      'deep/first/secret.txt',
      'chain/secret.txt',
      'loop',
    ];
    for (const path of [...files, 'neighbour/secret.txt'])
      await assert.rejects(read(workspace, path), missing, path);
    for (const path of ['folder', 'chain', 'neighbour', 'loop'])
      await assert.rejects(list(workspace, path), missing, path);
    assert.deepEqual(await list(workspace), [
      'deep/',
      'chain',
      'file',
      'folder',
      'loop',
      'neighbour',
      'relative',
    ]);
    assert.deepEqual(
      readZip(await archive(workspace)).map(({ name }) => name.toString()),
      ['deep/'],
    );
    git(workspace, 'init', '--quiet');
    await assert.rejects(look(workspace, { command: 'diff', path: 'folder/secret.txt' }), missing);
    const diff = await look(workspace, { command: 'diff', path: 'relative' });
    assert.deepEqual(diff, { modified: '../outside/secret.txt', original: '' });
  });

  it('are followed within', async (t) => {
    const { workspace } = createFolders(t);
    putFiles(workspace, { 'src/a.txt': 'a' });
    symlinkSync('src', join(workspace, 'link'));
    symlinkSync('link/a.txt', join(workspace, 'file'));
    assert.deepEqual(await read(workspace, 'file'), { code: 'a' });
    assert.deepEqual(await list(workspace), ['link/', 'src/', 'file']);
    assert.deepEqual(await list(workspace, 'link'), ['link/a.txt']);
  });
});

describe('the files of a workspace', () => {
  it('are listed case-insensitively, without uninteresting folders', async (t) => {
    const { workspace } = createFolders(t);
    putFiles(workspace, {
      'b.txt': '',
      'A.txt': '',
      'Z/x': '',
      'c/x': '',
      '.git/x': '',
      'node_modules/x': '',
      '.env': '',
    });
    assert.deepEqual(await list(workspace), ['c/', 'Z/', '.env', 'A.txt', 'b.txt']);
    assert.deepEqual(await list(workspace, 'node_modules'), ['node_modules/x']);
  });

  it('are shown up to the limits, and refused beyond them', async (t) => {
    const { workspace } = createFolders(t);
    putFiles(workspace, { 'a.txt': '12345', b: '', c: '' });
    assert.deepEqual(await read(workspace, 'a.txt', { fileBytesMax: 5 }), { code: '12345' });
    await assert.rejects(read(workspace, 'a.txt', { fileBytesMax: 4 }), tooLarge);
    assert.deepEqual(await list(workspace, '.', { entriesMax: 3 }), ['a.txt', 'b', 'c']);
    await assert.rejects(list(workspace, '.', { entriesMax: 2 }), tooLarge);
    assert.equal(readZip(await archive(workspace, { zipBytesMax: 5, zipEntriesMax: 3 })).length, 3);
    await assert.rejects(archive(workspace, { zipBytesMax: 4 }), tooLarge);
    await assert.rejects(archive(workspace, { zipEntriesMax: 2 }), tooLarge);
  });

  it('are text, and never pipes', async (t) => {
    const { workspace } = createFolders(t);
    putFiles(workspace, { nul: 'a\0b', latin: Buffer.from([0xe9]), empty: '', crlf: 'a\r\nb\r\n' });
    execFileSync('mkfifo', [join(workspace, 'pipe')]);
    for (const path of ['nul', 'latin']) await assert.rejects(read(workspace, path), { code: 'binary_file' });
    await assert.rejects(read(workspace, 'pipe'), missing);
    assert.deepEqual(await read(workspace, 'empty'), { code: '' });
    assert.deepEqual(await read(workspace, 'crlf'), { code: 'a\r\nb\r\n' });
    assert.equal(readZip(await archive(workspace)).length, 4);
  });

  it('are no longer read once nobody waits', async (t) => {
    const { workspace } = createFolders(t);
    const gone = AbortSignal.abort();
    await assert.rejects(look(workspace, { command: 'list', path: '.' }, {}, gone), {
      code: 'malformed_request',
    });
  });
});

describe('an archive of a workspace', () => {
  const odd = ['with space', 'quo"te', 'new\nline', 'ünïcode', 'empty', 'deep/er/still'];

  it('contains files of any name and size, in the order of their names', async (t) => {
    const { workspace } = createFolders(t);
    putFiles(workspace, Object.fromEntries(odd.map((name) => [name, name])));
    putFiles(workspace, { empty: '', large: Buffer.alloc(5 * mib, 'x'), 'deep/.git/config': 'x' });
    const raw = Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from([0x66, 0xff])]);
    writeFileSync(raw, 'raw');
    const zipped = readZip(await archive(workspace));
    const names = zipped.map(({ name }) => name);
    assert.deepEqual(names, names.toSorted(Buffer.compare));
    assert.deepEqual(
      zipped.map(({ name, content }) => [name.toString('latin1'), content.length]).toSorted(),
      [
        ...odd.map((name) => [
          Buffer.from(name).toString('latin1'),
          name === 'empty' ? 0 : Buffer.byteLength(name),
        ]),
      ]
        .concat([
          ['deep/', 0],
          ['deep/er/', 0],
          ['large', 5 * mib],
          ['f\xff', 3],
        ])
        .toSorted(),
    );
  });

  it('can be opened by another program', async (t) => {
    const { workspace } = createFolders(t);
    putFiles(workspace, { 'src/a.txt': 'a', empty: '', large: Buffer.alloc(mib, 'x') });
    const file = `${workspace}.zip`;
    writeFileSync(file, await archive(workspace));
    try {
      execFileSync('python3', ['-m', 'zipfile', '-t', file], { stdio: 'ignore' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      t.skip('there is no python3 to open it with');
    }
  });

  it('is refused with more entries than the format can count', async (t) => {
    const { workspace } = createFolders(t);
    const entry = { name: Buffer.from('folder/'), place: Buffer.from(workspace), isFolder: true };
    const write = async (count: number) => {
      const pieces = await Array.fromAsync(zip(Array<typeof entry>(count).fill(entry), mib));
      return readZip(Buffer.concat(pieces)).length;
    };
    assert.equal(await write(65_534), 65_534);
    await assert.rejects(write(65_535), { refusal: 'too_large' });
  });

  it('is empty if the workspace is', async (t) => {
    assert.deepEqual(readZip(await archive(createFolders(t).workspace)), []);
  });

  it('ends its program when nobody waits for it any more', async (t) => {
    const { workspace } = createFolders(t);
    putFiles(workspace, { noise: randomBytes(16 * mib) });
    const opened = await openInspectionSandbox(workspace);
    let program: SandboxProcess | undefined;
    const start: OpenSandbox['start'] = async (command) => {
      program = await opened.start(command);
      return program;
    };
    const gone = new AbortController();
    const stream = await download(
      { ...opened, start },
      { command: 'zip' },
      inspectionBounds,
      gone.signal,
      () => {},
    );
    gone.abort();
    assert.equal((await program?.ended)?.signal, 'SIGKILL');
    await assert.rejects(buffer(stream), 'half an archive is not taken for a whole one');
  });
});
