import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withoutWorkspace, workspacePath } from './paths.ts';

describe('a path of a workspace', () => {
  it('means the same below /workspace', () => {
    const paths = [
      ['/workspace/a.txt', 'a.txt'],
      ['/workspace//src/b', 'src/b'],
      ['/workspace', ''],
      ['/workspace/', ''],
      ['a.txt', 'a.txt'],
      ['workspace/a.txt', 'workspace/a.txt'],
      ['/workspaces/a.txt', '/workspaces/a.txt'],
      ['/etc/passwd', '/etc/passwd'],
      ['/workspace/../etc', '../etc'],
    ] as const;
    for (const [path, inside] of paths) assert.equal(withoutWorkspace(path), inside, path);
    assert.equal(withoutWorkspace(workspacePath('a.txt')), 'a.txt');
  });
});
