import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openBench } from '../../../../test/support/tools.ts';
import { createFileTools } from './files.ts';
import { writeText } from './writeFile.ts';

function open(t: TestContext) {
  const bench = openBench(t, createFileTools());
  const at = (path: string) => join(bench.cwd, path);
  return {
    ...bench,
    at,
    put: (path: string, content: string | Buffer) => writeFileSync(at(path), content),
    get: (path: string) => readFileSync(at(path), 'utf8'),
    write: (path: string, content: string) => bench.run('write_file', { path, content }),
    edit: (path: string, old_text: string, new_text: string, more: object = {}) =>
      bench.run('edit_file', { path, old_text, new_text, ...more }),
  };
}

describe('write_file', () => {
  it('creates a file and its folders', async (t) => {
    const { write, get, at } = open(t);
    const made = await write('src/new/a.ts', 'one\ntwo\n');
    assert.deepEqual(made, {
      text: 'Made src/new/a.ts: 2 lines.',
      change: { path: at('src/new/a.ts'), oldText: null, newText: 'one\ntwo\n' },
    });
    assert.equal(get('src/new/a.ts'), 'one\ntwo\n');
    assert.deepEqual(readdirSync(at('src/new')), ['a.ts']);
  });

  it('replaces a file, keeps its mode, and returns its old text', async (t) => {
    const { write, put, get, at } = open(t);
    put('run.sh', 'old');
    chmodSync(at('run.sh'), 0o751);
    const { text, change } = await write('run.sh', 'new');
    assert.equal(text, 'Wrote run.sh: 1 line.');
    assert.equal(change?.oldText, 'old');
    assert.equal(get('run.sh'), 'new');
    assert.equal(statSync(at('run.sh')).mode & 0o777, 0o751);
  });

  it('refuses a folder, a pipe, a binary file, a large one and one below a file', async (t) => {
    const { write, put, at, get } = open(t);
    mkdirSync(at('folder'));
    execFileSync('mkfifo', [at('pipe')]);
    put('binary', Buffer.from([1, 0, 2]));
    put('large', 'x'.repeat(2_000_001));
    put('latin1', Buffer.from('caf\xe9', 'latin1'));
    assert.equal((await write('folder', '')).text, 'folder is a folder, not a file.');
    assert.equal((await write('pipe', '')).text, 'pipe is a named pipe, not a file.');
    assert.match((await write('binary', '')).text, /^binary is a binary file.*remove it first/);
    assert.match((await write('large', '')).text, /^large is larger than 2000000 bytes/);
    assert.match((await write('latin1', '')).text, /^latin1 is not in UTF-8/);
    assert.match((await write('binary/x', '')).text, /a part of its path is a file/);
    assert.equal(get('large').length, 2_000_001);
  });

  it('shows the change beforehand without making it', async (t) => {
    const { preview, put, get, at } = open(t);
    put('a.txt', 'old');
    assert.deepEqual(await preview('write_file', { path: 'a.txt', content: 'new' }), {
      path: at('a.txt'),
      oldText: 'old',
      newText: 'new',
    });
    assert.deepEqual(await preview('write_file', { path: 'sub/b.txt', content: 'new' }), {
      path: at('sub/b.txt'),
      oldText: null,
      newText: 'new',
    });
    assert.equal(await preview('write_file', { path: '.', content: 'new' }), undefined);
    assert.equal(get('a.txt'), 'old');
    assert.equal(existsSync(at('sub')), false);
  });

  it('changes nothing once the user has stopped the turn', async (t) => {
    const { run, at } = open(t);
    const { failed } = await run('write_file', { path: 'a', content: '' }, AbortSignal.abort());
    assert.equal(failed, true);
    assert.equal(existsSync(at('a')), false);
  });
});

describe('edit_file', () => {
  it('replaces the only match', async (t) => {
    const { edit, put, get, at } = open(t);
    put('a.ts', 'const a = 1;\nconst b = 2;\n');
    const { text, change } = await edit('a.ts', 'b = 2', "b = '$& $1'");
    assert.equal(text, 'Edited a.ts in one place: line 2.');
    assert.equal(get('a.ts'), "const a = 1;\nconst b = '$& $1';\n");
    assert.deepEqual(change, {
      path: at('a.ts'),
      oldText: 'const a = 1;\nconst b = 2;\n',
      newText: "const a = 1;\nconst b = '$& $1';\n",
    });
  });

  it('lists the lines of a text that occurs more than once, and changes nothing', async (t) => {
    const { edit, put, get } = open(t);
    put('a.txt', 'x\ny\nx\nx x\n');
    const { text, failed } = await edit('a.txt', 'x', 'z');
    assert.match(
      text,
      /^old_text is found 4 times in a\.txt \(lines 1, 3, 4\)\. Take in more .* replace_all\.$/,
    );
    assert.equal(failed, true);
    assert.equal(get('a.txt'), 'x\ny\nx\nx x\n');
    assert.equal(
      (await edit('a.txt', 'x', 'xx', { replace_all: true })).text,
      'Edited a.txt in 4 places: lines 1, 3, 4.',
    );
    assert.equal(get('a.txt'), 'xx\ny\nxx\nxx xx\n');
  });

  it('explains what may be wrong if a text is not found', async (t) => {
    const { edit, put } = open(t);
    put('a.ts', 'function f() {\n\treturn 1;\n}\n');
    assert.match(
      (await edit('a.ts', 'g()', 'h()')).text,
      /^old_text is not found in a\.ts\. Read the file again/,
    );
    const spaces = await edit('a.ts', '    return 1;\n', '    return 2;\n');
    assert.match(spaces.text, /Its line "return 1;" is there at line 2, but white space/);
    assert.match((await edit('a.ts', 'return 0', 'return 1')).text, /new_text is there already/);
    assert.match((await edit('a.ts', 'return 1', 'return 1')).text, /are the same/);
    assert.match((await edit('a.ts', '', 'x')).text, /old_text is empty.*write_file/);
    assert.match((await edit('b.ts', 'a', 'x')).text, /^There is no b\.ts\..*write_file/);
    assert.match((await edit('.', 'a', 'x')).text, /^\. is a folder/);
  });

  it('matches a file with CRLF, and keeps its line ends and byte order mark', async (t) => {
    const { edit, put, get } = open(t);
    put('a.txt', '\uFEFFone\r\ntwo\r\nthree\r\n');
    await edit('a.txt', 'one\ntwo\n', 'one\nand\ntwo\n');
    assert.equal(get('a.txt'), '\uFEFFone\r\nand\r\ntwo\r\nthree\r\n');
    await edit('a.txt', 'three', 'three\nfour');
    assert.equal(get('a.txt'), '\uFEFFone\r\nand\r\ntwo\r\nthree\r\nfour\r\n');
  });

  it('keeps the other line ends of a file with both kinds', async (t) => {
    const { edit, put, get } = open(t);
    put('a.txt', 'one\r\ntwo\r\nthree\nfour\n');
    await edit('a.txt', 'three\nfour', '3\n4');
    await edit('a.txt', 'one\ntwo', '1\n2');
    assert.equal(get('a.txt'), '1\r\n2\r\n3\n4\n');
    put('b.txt', 'one\ntwo\n');
    await edit('b.txt', 'one\r\ntwo', '1\r\n2');
    assert.equal(get('b.txt'), '1\n2\n');
  });

  it('writes through a link and keeps the link', async (t) => {
    const { edit, put, get, at } = open(t);
    put('target', 'old');
    symlinkSync('target', at('soft'));
    linkSync(at('target'), at('hard'));
    await edit('soft', 'old', 'new');
    assert.ok(lstatSync(at('soft')).isSymbolicLink());
    await edit('hard', 'new', 'newer');
    assert.equal(get('target'), 'newer');
  });

  it('names the target of a link, and writes no other file', async (t) => {
    const { resolve, preview, run, put, get, at, cwd } = open(t);
    mkdirSync(at('hooks'));
    put('hooks/pre-commit', 'old');
    put('other', 'other');
    symlinkSync('hooks/pre-commit', at('notes.md'));
    symlinkSync('hooks', at('folder'));
    symlinkSync('hooks/new', at('dangling'));
    const input = { path: 'notes.md', content: 'new' };
    const named = await resolve('write_file', input);
    assert.deepEqual(named, {
      path: at('hooks/pre-commit'),
      isLinked: true,
      named: at('hooks/pre-commit'),
      shown: 'notes.md → hooks/pre-commit',
    });
    assert.equal((await preview('write_file', input))?.path, at('hooks/pre-commit'));
    const dangling = await resolve('write_file', { path: 'dangling', content: '' });
    assert.equal(dangling?.shown, 'dangling → hooks/new');
    const below = await resolve('edit_file', { path: 'folder/x/y', old_text: 'a', new_text: 'b' });
    assert.equal(below?.shown, 'folder/x/y → hooks/x/y');
    assert.equal((await resolve('read_file', { path: '/proc/self/cwd' }))?.isLinked, true);
    assert.equal((await resolve('write_file', { path: 'plain', content: '' }))?.shown, 'plain');

    // The link is changed between the approval and the write.
    rmSync(at('notes.md'));
    symlinkSync('other', at('notes.md'));
    const approved = { cwd, approvedPath: named?.path ?? null };
    const { text, failed } = await run('write_file', input, undefined, approved);
    assert.match(text, /^notes\.md leads to another file than when approval was asked for/);
    const read = await run('read_file', { path: 'notes.md' }, undefined, approved);
    assert.deepEqual([failed, read.failed], [true, true]);
    assert.deepEqual([get('other'), get('hooks/pre-commit')], ['other', 'old']);
    assert.equal(
      (await run('write_file', { path: 'other', content: '' }, undefined, { approvedPath: null })).failed,
      true,
    );
  });

  it('follows no link that appears after the path was resolved', async (t) => {
    const { put, get, at } = open(t);
    mkdirSync(at('safe'));
    mkdirSync(at('hooks'));
    put('hooks/a', 'old');
    // As if `safe` had been a folder when it was resolved.
    rmSync(at('safe'), { recursive: true });
    symlinkSync('hooks', at('safe'));
    await assert.rejects(
      writeText(at('safe/a'), 'safe/a', 'new', statSync(at('hooks/a'))),
      /leads to another file/,
    );
    symlinkSync('hooks/a', at('file'));
    linkSync(at('file'), at('second'));
    await assert.rejects(
      writeText(at('second'), 'second', 'new', statSync(at('hooks/a'))),
      /links lead in a circle/,
    );
    assert.equal(get('hooks/a'), 'old');
  });

  it('refuses a read-only file', async (t) => {
    const { edit, put, get, at } = open(t);
    put('a.txt', 'old');
    chmodSync(at('a.txt'), 0o444);
    const { text, failed } = await edit('a.txt', 'old', 'new');
    assert.match(text, /^a\.txt is read-only\. .* chmod/);
    assert.equal(failed, true);
    assert.equal(get('a.txt'), 'old');
  });

  it('keeps the mode of a file, and leaves nothing beside it', async (t) => {
    const { edit, put, at } = open(t);
    put('run.sh', 'old');
    chmodSync(at('run.sh'), 0o755);
    await edit('run.sh', 'old', 'new');
    assert.equal(statSync(at('run.sh')).mode & 0o777, 0o755);
    assert.deepEqual(readdirSync(at('.')), ['run.sh']);
  });

  it('loses none of several concurrent edits', async (t) => {
    const { edit, put, get } = open(t);
    const names = Array.from({ length: 10 }, (_, i) => `name${i};`);
    put('a.txt', names.join('\n'));
    await Promise.all(names.map((name) => edit('a.txt', name, name.toUpperCase())));
    assert.equal(get('a.txt'), names.join('\n').toUpperCase());
  });

  it('refuses to make a file too large', async (t) => {
    const { edit, put } = open(t);
    put('a.txt', 'x'.repeat(1_000));
    const { text } = await edit('a.txt', 'x', 'y'.repeat(10_000), { replace_all: true });
    assert.match(text, /^a\.txt would get larger than 2000000 bytes/);
  });

  it('shows the change beforehand without making it', async (t) => {
    const { preview, put, get, at } = open(t);
    put('a.txt', 'old text');
    const input = { path: 'a.txt', old_text: 'old', new_text: 'new' };
    assert.deepEqual(await preview('edit_file', input), {
      path: at('a.txt'),
      oldText: 'old text',
      newText: 'new text',
    });
    assert.equal(get('a.txt'), 'old text');
    assert.equal(await preview('edit_file', { ...input, old_text: 'none' }), undefined);
  });
});
