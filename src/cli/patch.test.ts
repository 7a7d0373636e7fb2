import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { filePatch } from './patch.ts';

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-diff-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The file after `git apply`, or undefined if it was deleted. */
function applied(
  folder: string,
  path: string,
  original: string | undefined,
  diff: string,
): string | undefined {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  if (original === undefined) rmSync(file, { force: true });
  else writeFileSync(file, original);
  const { status, stderr } = spawnSync('git', ['apply', '--unsafe-paths', '--whitespace=nowarn', '-'], {
    cwd: folder,
    input: diff,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], GIT_CEILING_DIRECTORIES: dirname(folder) },
  });
  assert.equal(status, 0, `${stderr}\n${diff}`);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

describe('filePatch', () => {
  it('has the usual form, with three lines of context', () => {
    const original = 'a\nb\nc\nd\ne\nf\n';
    const diff = filePatch({ path: 'x.txt', status: 'M', original, modified: original.replace('e', 'E') });
    assert.equal(
      diff,
      'diff --git a/x.txt b/x.txt\n--- a/x.txt\n+++ b/x.txt\n@@ -2,5 +2,5 @@\n b\n c\n d\n-e\n+E\n f\n',
    );
  });

  it('can be applied by git, for any texts, with and without a final line break', (t) => {
    const folder = folderOf(t);
    const text = fc
      .array(fc.constantFrom('a\n', 'b\n', 'c\n', '\n'), { maxLength: 24 })
      .chain((lines) => fc.constantFrom(lines.join(''), `${lines.join('')}end`));
    fc.assert(
      fc.property(text, text, (original, modified) => {
        if (original === modified || original === '' || modified === '') return;
        const diff = filePatch({ path: 'x', status: 'M', original, modified });
        assert.equal(applied(folder, 'x', original, diff), modified);
      }),
      { numRuns: 40 },
    );
  });

  it('can be applied by git if a file is new, deleted, or has an unusual name', (t) => {
    const folder = folderOf(t);
    const path = 'a "b"\\ ü\n.txt';
    const created = filePatch({ path, status: 'A', original: '', modified: 'new\n' });
    assert.equal(applied(folder, path, undefined, created), 'new\n');
    const deleted = filePatch({ path, status: 'D', original: 'old', modified: '' });
    assert.equal(applied(folder, path, 'old', deleted), undefined);
  });

  it('is empty if the text has not changed, so that git accepts the rest of the patch', () => {
    assert.equal(filePatch({ path: 'x', status: 'M', original: 'a\n', modified: 'a\n' }), '');
  });

  it('replaces texts that have almost nothing in common as a whole, and keeps the lines around them', (t) => {
    const lines = (mark: string) => Array.from({ length: 3_000 }, (_, i) => `${mark}${i}\n`).join('');
    const [original, modified] = [`top\n${lines('a')}end\n`, `top\n${lines('b')}end\n`];
    const diff = filePatch({ path: 'x', status: 'M', original, modified });
    assert.equal(applied(folderOf(t), 'x', original, diff), modified);
  });
});
