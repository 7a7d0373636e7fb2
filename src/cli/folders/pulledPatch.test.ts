import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../test/support/localFolder.ts';
import { locateFolder } from './folderLocation.ts';
import { isSafePath, leadsOut, linksOut, readPulledPatch } from './pulledPatch.ts';
import { withUntrustedGit } from './untrustedGit.ts';

const add = (path: string, mode = '100644', text = 'x') =>
  `diff --git a/${path} b/${path}\nnew file mode ${mode}\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+${text}\n\\ No newline at end of file\n`;

async function readText(t: TestContext, text: string) {
  const location = await locateFolder(temporaryFolder(t));
  return withUntrustedGit(location, (git) => readPulledPatch(git, new Blob([text])));
}

describe('a pulled patch', () => {
  it('has only paths in the repository and out of .git, on every file system', () => {
    for (const path of ['a', 'a/b c.txt', '.gitignore', '.github/x', 'a..b', 'ü', '..a', 'git', 'x.git/y'])
      assert.ok(isSafePath(path), path);
    const unsafe = ['/etc/x', '../x', 'a/../../x', '.git/config', 'sub/.git/hooks/x', '.GIT/x', '.git ./x'];
    for (const path of [...unsafe, 'git~1/x', '.git::$INDEX_ALLOCATION/x', '.g\u200cit/x', 'a\nb', '', './x'])
      assert.ok(!isSafePath(path), JSON.stringify(path));
  });

  it('names links that lead out of the repository, and those whose target is not shown', async (t) => {
    const [out, inside] = [
      [
        ['a', '/etc/passwd'],
        ['a', '..'],
        ['sub/a', '../../x'],
        ['a', '.git/config'],
        ['a', ''],
        ['a/b', '../.git'],
      ],
      [
        ['a', 'b'],
        ['sub/a', '../b'],
        ['sub/a', '..'],
        ['a', './b/'],
      ],
    ] as const;
    for (const [path, target] of out) assert.ok(leadsOut(path, target), `${path} -> ${target}`);
    for (const [path, target] of inside) assert.ok(!leadsOut(path, target), `${path} -> ${target}`);
    const read = (text: string) => readText(t, `# base: none\n${text}`);
    const text = add('a') + add('bad', '120000', '../x') + add('good', '120000', 'a') + add('z');
    const patch = await read(text);
    assert.deepEqual(patch.paths, ['a', 'bad', 'good', 'z']);
    assert.deepEqual(linksOut(patch), ['bad']);
    const several = add('two', '120000', 'a').replace('+a\n', '+a\n+/etc\n').replace('+1 @@', '+1,2 @@');
    assert.deepEqual(linksOut(await read(several)), ['two']);
  });

  it('is without files elsewhere, and refused if it is not a patch', async (t) => {
    const read = (text: string) => readText(t, text);
    for (const path of ['../x', '/tmp/x', '.git/hooks/post-checkout', 'a/.GIT/config']) {
      const { paths, leftOut } = await read(`# base: none\n${add('a')}${add(path)}${add('b')}`);
      assert.deepEqual([paths, leftOut], [['a', 'b'], [path]]);
    }
    const two = `${add('a')}${add('.git/x').replace('diff --git a/.git/x b/.git/x\n', '')}`;
    await assert.rejects(read(`# base: none\n${two}`), /names that are not taken over: .git\/x. Nothing was/);
    await assert.rejects(read('<html>'), /not a patch/);
    await assert.rejects(read(`# base: --upload-pack=x\n${add('a')}`), /not a patch/);
    const named = await read(`# base: none\n# left out: ".GIT/ü"\n# left out: "b"\n${add('a')}`);
    assert.deepEqual([named.paths, named.leftOut], [['a'], ['.GIT/ü', 'b']]);
    const empty = await read(`# base: ${'a'.repeat(40)}\n`);
    assert.deepEqual([empty.base, empty.paths], ['a'.repeat(40), []]);
  });

  it('names the files that programs of the user act on', async (t) => {
    const text = ['a', '.vscode/tasks.json', 'sub/.envrc', '.Husky/pre-commit']
      .map((path) => add(path))
      .join('');
    const { guarded } = await readText(t, `# base: none\n${text}`);
    assert.deepEqual(guarded, ['.vscode/tasks.json', 'sub/.envrc', '.Husky/pre-commit']);
  });
});
