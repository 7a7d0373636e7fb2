import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { commit, git } from '../../../test/support/gitServer.ts';
import {
  changeEverything,
  cloneFolder,
  plainFolder,
  temporaryFolder,
  treeOf,
} from '../../../test/support/localFolder.ts';
import { RefusalError } from '../../errors.ts';
import { type PreparedFolder, prepareFolder } from './prepareFolder.ts';

function setVariable(t: TestContext, name: string, value: string): void {
  const before = process.env[name];
  t.after(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
  process.env[name] = value;
}

/** The tree that a service gets. */
function startTree(t: TestContext, repository: string | undefined, { creation }: PreparedFolder): string {
  const target = temporaryFolder(t);
  const sent = creation.workspace_patch;
  const branch = creation.selected_branch;
  if (repository === undefined) git(target, ['init', '--quiet', '.']);
  else git(target, ['clone', '--quiet', ...(branch ? [`--branch=${branch}`] : []), repository, '.']);
  if (sent?.base_commit) git(target, ['reset', '--quiet', '--hard', sent.base_commit]);
  const patch = Buffer.from(sent?.patch ?? '', 'base64');
  if (patch.length > 0) git(target, ['apply', '--index', '--whitespace=nowarn', '-'], patch);
  return treeOf(target);
}

describe('prepareFolder', () => {
  it('carries commits that are not pushed and changes of every kind, without ignored files', async (t) => {
    const folder = await cloneFolder(t);
    changeEverything(folder);
    const prepared = await prepareFolder(folder.path);
    const { repository, selected_branch, git_provider, workspace_patch } = prepared.creation;
    assert.deepEqual(
      [repository, selected_branch, git_provider, workspace_patch?.base_commit],
      [`${folder.host.url}/team/app`, 'main', undefined, folder.pushed],
    );
    assert.equal(startTree(t, folder.repository, prepared), treeOf(folder.path));
    assert.doesNotMatch(Buffer.from(workspace_patch?.patch ?? '', 'base64').toString(), /ignored\.txt/);
    assert.match(prepared.notes.join('\n'), /branch main, commit [0-9a-f]{12}, with 8 changed files, 4 of/);
    assert.match(prepared.notes.join('\n'), /1 commit that the remote does not have/);
  });

  it('does not change the folder: status, index and objects stay as they are', async (t) => {
    const folder = await cloneFolder(t);
    changeEverything(folder);
    const look = () => [
      folder.git('status', '--porcelain'),
      readFileSync(join(folder.path, '.git/index'), 'base64'),
      ...readdirSync(join(folder.path, '.git'), { recursive: true, encoding: 'utf8' }).toSorted(),
    ];
    const before = look();
    await prepareFolder(folder.path);
    assert.deepEqual(look(), before);
  });

  it('is at the commit of the folder if the remote has moved on, and if there are no changes', async (t) => {
    const folder = await cloneFolder(t);
    commit(folder.repository, 'main', { 'README.md': 'later\n' });
    const prepared = await prepareFolder(folder.path);
    assert.deepEqual(prepared.creation.workspace_patch, { base_commit: folder.pushed, patch: '' });
    assert.equal(startTree(t, folder.repository, prepared), treeOf(folder.path));
  });

  it('starts a branch that the remote does not have from the newest commit that it has', async (t) => {
    const folder = await cloneFolder(t);
    folder.git('switch', '--quiet', '-c', 'mine');
    changeEverything(folder);
    const prepared = await prepareFolder(join(folder.path, 'src'));
    assert.equal(prepared.creation.selected_branch, undefined);
    assert.equal(prepared.creation.workspace_patch?.base_commit, folder.pushed);
    assert.equal(prepared.subfolder, 'src');
    assert.equal(startTree(t, folder.repository, prepared), treeOf(folder.path));
  });

  it('works with a detached head, an upstream of another name, and options of the user for diffs', async (t) => {
    const folder = await cloneFolder(t);
    const other = commit(folder.repository, 'team/next', { 'README.md': 'next\n' });
    folder.git('fetch', '--quiet', folder.repository, 'refs/heads/*:refs/remotes/origin/*');
    folder.git('switch', '--quiet', '-c', 'mine', '--track', 'origin/team/next');
    for (const name of ['diff.noprefix', 'diff.mnemonicPrefix', 'color.ui'])
      folder.git('config', name, 'always');
    folder.git('config', 'diff.external', 'false');
    folder.write('README.md', 'changed\n');
    const tracked = await prepareFolder(folder.path);
    assert.equal(tracked.creation.selected_branch, 'team/next');
    assert.equal(startTree(t, folder.repository, tracked), treeOf(folder.path));
    folder.git('switch', '--quiet', '--detach');
    const detached = await prepareFolder(folder.path);
    assert.equal(detached.creation.selected_branch, undefined);
    assert.equal(detached.creation.workspace_patch?.base_commit, other);
    assert.equal(startTree(t, folder.repository, detached), treeOf(folder.path));
  });

  it('returns nothing of the credentials in the URL of the remote', async (t) => {
    const folder = await cloneFolder(t);
    folder.git('remote', 'set-url', 'origin', 'https://ada:hunter2@github.com/team/app.git');
    const prepared = await prepareFolder(folder.path);
    assert.equal(prepared.creation.repository, 'https://github.com/team/app');
    assert.doesNotMatch(JSON.stringify(prepared), /hunter2|ada:/);
  });

  it('carries the files themselves if there is no repository, no commit, or no remote that can be cloned', async (t) => {
    const plain = plainFolder(t);
    plain.write('a.txt', 'a\n');
    plain.write('sub/b.bin', Buffer.from([0, 255, 10]));
    plain.write('.gitignore', '*.log\n');
    plain.write('x.log', 'x');
    const prepared = await prepareFolder(plain.path);
    assert.deepEqual(Object.keys(prepared.creation), ['workspace_patch', 'client_folder']);
    assert.match(
      prepared.notes.join(),
      /^The folder is not a Git repository\. The workspace starts with a copy of its 3 files\.$/,
    );
    assert.deepEqual(readdirSync(plain.path).toSorted(), ['.gitignore', 'a.txt', 'sub', 'x.log']);
    const tree = startTree(t, undefined, prepared);
    plain.git('init', '--quiet', '.');
    assert.equal(tree, treeOf(plain.path));
    assert.match(
      (await prepareFolder(plain.path)).notes.join(),
      /has no commits yet\. The workspace starts with/,
    );

    const folder = await cloneFolder(t);
    changeEverything(folder);
    folder.git('remote', 'set-url', 'origin', folder.repository);
    const local = await prepareFolder(folder.path);
    assert.equal(local.creation.repository, undefined);
    assert.match(local.notes.join(), /origin is not a repository on a Git host/);
    assert.equal(startTree(t, undefined, local), treeOf(folder.path));
    folder.git('remote', 'remove', 'origin');
    assert.match((await prepareFolder(folder.path)).notes.join(), /no remote to clone it from/);
  });

  it('leaves out repositories in the folder, and names them', async (t) => {
    const folder = await cloneFolder(t);
    mkdirSync(join(folder.path, 'vendor/lib'), { recursive: true });
    git(join(folder.path, 'vendor/lib'), ['init', '--quiet', '.']);
    folder.write('vendor/lib/x', 'x');
    const prepared = await prepareFolder(folder.path);
    assert.equal(prepared.creation.workspace_patch?.patch, '');
    assert.match(prepared.notes.join('\n'), /repositories of their own: vendor\/lib\//);
  });

  it('leaves out names that Git does not take, and names them', async (t) => {
    const plain = plainFolder(t);
    for (const name of ['.GIT/config', 'git~1/x', 'a.txt']) plain.write(name, 'text\n');
    const prepared = await prepareFolder(plain.path);
    assert.match(prepared.notes.join('\n'), /copy of its 1 file\.\nLeft out, .*: \.GIT\/config, git~1\/x$/);
  });

  it('refuses changes that are too large, and starts with an empty workspace without a repository', async (t) => {
    const folder = await cloneFolder(t);
    const noise = randomBytes(9_000_000);
    folder.write('large.bin', noise);
    await assert.rejects(prepareFolder(folder.path), (error: Error) => {
      assert.ok(error instanceof RefusalError);
      return /larger than 8 MiB as a patch; the largest are large.bin \(\d+ MiB\)\. Commit/.test(
        error.message,
      );
    });
    const plain = plainFolder(t);
    plain.write('large.bin', noise);
    const prepared = await prepareFolder(plain.path);
    assert.deepEqual(prepared.creation, { client_folder: plain.path });
    assert.match(
      prepared.notes.join(),
      /larger than 8 MiB.*large.bin \(\d+ MiB\)\. Add what is not needed to \.gitignore.*an empty workspace/,
    );
  });

  it('never carries a home folder', async () => {
    for (const [folder, relation] of [
      [homedir(), 'is'],
      ['/', 'contains'],
    ] as const) {
      const { creation, notes } = await prepareFolder(folder);
      assert.deepEqual(creation, { client_folder: folder });
      assert.match(notes.join(), RegExp(`not carried along, because it ${relation} your home folder`));
    }
  });

  it('does not take the repository of a home folder for that of a folder below, unless it is tracked', async (t) => {
    const home = await cloneFolder(t);
    setVariable(t, 'HOME', home.path);
    home.write('project/own.txt', 'own\n');
    const project = await prepareFolder(join(home.path, 'project'));
    assert.equal(project.creation.repository, undefined);
    assert.equal(project.creation.client_folder, join(home.path, 'project'));
    assert.match(project.notes.join(), /home folder has none of its files\. .* a copy of its 1 file/);
    home.write('src/a.ts', 'changed\n');
    const tracked = await prepareFolder(join(home.path, 'src'));
    assert.deepEqual([tracked.subfolder, tracked.creation.repository], ['src', `${home.host.url}/team/app`]);
    assert.match(
      tracked.notes.join(),
      /with 1 changed file\..*Untracked files are left out, because the folder is/,
    );
  });

  it('says what to do if the folder belongs to another user', async (t) => {
    const folder = await cloneFolder(t);
    setVariable(t, 'GIT_TEST_ASSUME_DIFFERENT_OWNER', '1');
    const { creation, notes } = await prepareFolder(folder.path);
    assert.equal(creation.repository, undefined);
    assert.match(
      notes.join(),
      /belongs to another user.*git config --global --add safe\.directory \S+ The workspace/,
    );
    assert.ok(notes.join().includes(folder.path));
  });

  it('refuses what is not a folder', async (t) => {
    const folder = plainFolder(t);
    folder.write('a', '');
    for (const name of ['a', 'missing'])
      await assert.rejects(prepareFolder(join(folder.path, name)), RefusalError);
  });
});
