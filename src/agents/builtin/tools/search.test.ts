import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openBench } from '../../../../test/support/tools.ts';
import { createSearchTools } from './search.ts';

function open(t: TestContext, files: Readonly<Record<string, string>> = {}) {
  const bench = openBench(t, createSearchTools({ env: { PATH: process.env['PATH'] } }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(bench.cwd, path)), { recursive: true });
    writeFileSync(join(bench.cwd, path), text);
  }
  return {
    ...bench,
    search: (pattern: string, more: object = {}) => bench.run('search_text', { pattern, ...more }),
    find: (glob: string, more: object = {}) => bench.run('find_files', { glob, ...more }),
  };
}

const tree = {
  'src/a.ts': 'const one = 1;\nconst two = 2;\n',
  'src/b.tsx': 'const One = 1;\r\n',
  'src/c.md': 'one -x\n',
  'node_modules/p/a.ts': 'const one = 1;\n',
  '.git/config': 'one\n',
  'binary.bin': 'one\0two\n',
};

const sorted = (text: string) => text.split('\n').toSorted();

describe('search_text', () => {
  it('returns file, line and text of each match, without .git, node_modules and binary files', async (t) => {
    const { search } = open(t, tree);
    assert.deepEqual(sorted((await search('on(e|o)')).text), [
      'src/a.ts:1:const one = 1;',
      'src/c.md:1:one -x',
    ]);
    assert.deepEqual(await search('three'), { text: 'Nothing is found.' });
  });

  it('is limited by path and glob, and extended by case and context', async (t) => {
    const { search } = open(t, tree);
    assert.equal((await search('one', { path: 'src/a.ts' })).text, 'src/a.ts:1:const one = 1;');
    assert.equal(
      (await search('one', { path: 'node_modules' })).text,
      'node_modules/p/a.ts:1:const one = 1;',
    );
    const both = await search('one', { glob: '**/*.{ts,tsx}', ignore_case: true });
    assert.deepEqual(sorted(both.text), ['src/a.ts:1:const one = 1;', 'src/b.tsx:1:const One = 1;']);
    const context = await search('one', { glob: '*.ts', context_lines: 1 });
    assert.equal(context.text, 'src/a.ts:1:const one = 1;\nsrc/a.ts-2-const two = 2;');
  });

  it('does not treat a pattern or a path with a dash as an option', async (t) => {
    const { search } = open(t, { ...tree, '-r/x.txt': 'dash\n' });
    assert.equal((await search('-x')).text, 'src/c.md:1:one -x');
    assert.equal((await search('dash', { path: '-r' })).text, '-r/x.txt:1:dash');
  });

  it('explains what is wrong with a pattern, a glob or a path', async (t) => {
    const { search, cwd } = open(t, tree);
    const bad = await search('one(');
    assert.match(bad.text, /^The pattern is no extended regular expression: Unmatched \(.*backslash/);
    assert.equal(bad.failed, true);
    assert.match((await search('\\d+')).text, /does not know \\d: write \[0-9\]/);
    assert.match((await search('(?:one)')).text, /does not know \(\?:/);
    assert.equal((await search('\\\\d|\\(?x')).failed, undefined);
    assert.match((await search('one', { glob: 'src/*.ts' })).text, /Give the folder as path/);
    assert.match((await search('one', { path: 'nowhere' })).text, /^There is no nowhere/);
    execFileSync('mkfifo', [join(cwd, 'pipe')]);
    assert.match((await search('one', { path: 'pipe' })).text, /is a named pipe/);
    assert.match((await search('one', { path: '/dev/zero' })).text, /is a device/);
    assert.deepEqual(sorted((await search('one')).text).length, 2);
  });

  it('cuts long lines and long lists, and says so', async (t) => {
    const { search } = open(t, {
      'long.txt': `one ${'x'.repeat(5_000)}\n`,
      'many.txt': 'two\n'.repeat(200_000),
    });
    assert.equal((await search('one')).text.length, 302);
    const { text } = await search('two');
    assert.match(text, /\nmany\.txt:250:two\n\[there is more: give a narrower pattern, path or glob\]$/);
  });

  it('is ended with the turn', async (t) => {
    const { run } = open(t, tree);
    const { text, failed } = await run('search_text', { pattern: 'one' }, AbortSignal.abort());
    assert.equal(text, 'Stopped by the user.');
    assert.equal(failed, true);
  });
});

describe('find_files', () => {
  it('returns the newest first, without .git and node_modules', async (t) => {
    const { find, cwd } = open(t, tree);
    utimesSync(join(cwd, 'src/a.ts'), 1_000, 1_000);
    utimesSync(join(cwd, 'src/b.tsx'), 3_000, 3_000);
    utimesSync(join(cwd, 'src/c.md'), 2_000, 2_000);
    assert.equal((await find('src/**')).text, 'src/b.tsx\nsrc/c.md\nsrc/a.ts');
    assert.equal((await find('*.{ts,md}')).text, 'src/c.md\nsrc/a.ts');
    assert.equal((await find('a.*', { path: 'src' })).text, 'src/a.ts');
    assert.equal((await find('*.ts', { path: 'node_modules' })).text, 'node_modules/p/a.ts');
    assert.equal((await find(join(cwd, 'src/*.md'))).text, 'src/c.md');
    assert.deepEqual(await find('*.py'), { text: 'No file is found.' });
  });

  it('does not follow links in circles', async (t) => {
    const { find, cwd } = open(t, tree);
    symlinkSync('..', join(cwd, 'src/up'));
    assert.equal((await find('**/a.ts')).text, 'src/a.ts');
  });

  it('refuses globs that take too long, and a path that is not a folder', async (t) => {
    const { find } = open(t, tree);
    assert.match((await find('{1..100000000}')).text, /Use \[1-9\]/);
    assert.match((await find('*(*(*(a)))')).text, /Use \{a,b\}/);
    assert.match((await find('*a*a*a*a*a*b')).text, /at most 4 stars/);
    assert.match((await find('{a,b}'.repeat(10))).text, /at most 50 globs/);
    assert.match((await find('{a,{b,c}}')).text, /Spell them out/);
    assert.match(
      (await find('*', { path: 'src/a.ts' })).text,
      /^src\/a\.ts is a file, which is not searched/,
    );
    assert.match((await find('*', { path: 'nowhere' })).text, /^There is no nowhere/);
  });

  it('cuts a long list, and says so', async (t) => {
    const files = Object.fromEntries(Array.from({ length: 210 }, (_, i) => [`f/${i}.txt`, '']));
    const { text } = await open(t, files).find('*.txt');
    assert.equal(text.split('\n').length, 201);
    assert.match(text, /\[210 files were found; the newest are shown: give a narrower glob or path\]$/);
  });
});
