import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DiffLine } from '../content/diff.ts';
import { commentsMessage } from './comments.ts';
import { fileTree } from './fileTree.ts';
import { sideBySide } from './sideBySide.ts';

describe('the tree of changed files', () => {
  it('joins folders that contain only a folder', () => {
    const paths = ['README.md', 'src/a/b/c.ts', 'src/a/b/d.ts', 'src/e.ts', 'test/deep/er/f.ts'];
    const rows = fileTree(paths.map((path) => ({ path, status: 'M' as const })));
    assert.deepEqual(
      rows.map(({ kind, name, depth }) => `${' '.repeat(depth)}${name}${kind === 'folder' ? '/' : ''}`),
      ['src/', ' a/b/', '  c.ts', '  d.ts', ' e.ts', 'test/deep/er/', ' f.ts', 'README.md'],
    );
    assert.equal(rows.find(({ name }) => name === 'd.ts')?.path, 'src/a/b/d.ts');
  });
});

describe('comments on lines', () => {
  it('are one message, whose fences the code cannot end', () => {
    const text = commentsMessage([
      { path: 'a.ts', side: 'new', line: 3, code: 'const a = 1;', text: 'Why 1?' },
      { path: 'b.md', side: 'old', line: 7, code: '```js', text: 'Keep it.' },
    ]);
    assert.match(text, /a\.ts, line 3:\n```\nconst a = 1;\n```\nWhy 1\?/);
    assert.match(text, /b\.md, line 7 before the change:\n````\n```js\n````\nKeep it\./);
  });
});

describe('a diff side by side', () => {
  it('has removed lines beside the added ones that replace them', () => {
    const kinds: DiffLine['kind'][] = ['hunk', 'same', 'removed', 'removed', 'added', 'same', 'added'];
    assert.deepEqual(sideBySide(kinds.map((kind) => ({ kind, text: '' }))), [
      { left: 0, right: 0 },
      { left: 1, right: 1 },
      { left: 2, right: 4 },
      { left: 3, right: undefined },
      { left: 5, right: 5 },
      { left: undefined, right: 6 },
    ]);
  });
});
