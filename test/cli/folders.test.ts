// Local folders on their way to a conversation, from the command line to what the agent sees.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createCommandLine, jsonLines } from '../support/commandLine.ts';
import { databaseKinds } from '../support/databases.ts';
import { git } from '../support/gitServer.ts';
import { countRows } from '../support/inspect.ts';
import { changeEverything, cloneFolder, plainFolder, treeOf } from '../support/localFolder.ts';
import { filesOf, type RunsOptions, startRuns } from '../support/runs.ts';
import { ending, errorsAndNotices, shell } from '../support/runTalk.ts';

async function begin(t: TestContext, options: RunsOptions = {}) {
  const folder = await cloneFolder(t);
  const runs = await startRuns({ ...options, env: { PARLEY_GIT_HOSTS: `github=${folder.host.url}` } }, t);
  return { folder, runs, line: createCommandLine(runs.service, t) };
}

for (const kind of databaseKinds)
  describe(`parley new --folder on ${kind}`, () => {
    it('starts with the changes of the folder before the first turn, and the log says so', async (t) => {
      const { folder, runs, line } = await begin(t, { kind });
      changeEverything(folder);
      const ran = await line.run([
        'new',
        '--folder',
        folder.path,
        '--id',
        'c',
        'cat src/a.ts\ncat new/ünï code.txt',
      ]);
      assert.equal(ran.code, 0, ran.stderr);
      assert.match(
        ran.stderr,
        /^The workspace starts with http:\S+\/team\/app, branch main, .*8 changed files/,
      );
      assert.deepEqual(await runs.turns('c', 1), ['a\nB\nc\nnew\n']);
      assert.deepEqual(errorsAndNotices(await runs.events('c')), [
        `The workspace starts with the changes of your local folder: 8 changed files on the commit ${folder.pushed.slice(0, 12)}.`,
      ]);
      const status = await shell(runs, 'c', 2, 'git status --porcelain | wc -l');
      assert.equal(status.trim(), '8');
    });

    it('applies them again to a new workspace, and forgets them with the conversation', async (t) => {
      const { folder, runs } = await begin(t, { kind });
      folder.write('README.md', 'changed\n');
      const patch = Buffer.from(`${folder.git('diff', '--binary')}\n`).toString('base64');
      const more = { repository: 'team/app', workspace_patch: { base_commit: folder.pushed, patch } };
      const id = await runs.create('cat README.md', { conversation_id: 'c', ...more });
      assert.deepEqual(await runs.turns(id, 1), ['changed\n']);
      await runs.stop(id);
      await runs.reaches(id, 'STOPPED');
      rmSync((await filesOf(runs.service.storage, id)).root, { recursive: true });
      await runs.say(id, 'cat README.md');
      assert.deepEqual(await runs.turns(id, 2), ['changed\n', 'changed\n']);
      // A repetition is the same conversation; another patch is a conflict.
      assert.equal(await runs.create('cat README.md', { conversation_id: 'c', ...more }), 'c');
      const json = { initial_user_msg: 'cat README.md', conversation_id: 'c', repository: 'team/app' };
      assert.equal((await runs.service.ask('/api/conversations', { json })).body.code, 'conversation_exists');
      assert.equal(await countRows(runs.service.storage, 'workspace_patches'), 1);
      await runs.service.ask('/api/conversations/c', { method: 'DELETE' });
      assert.equal(await countRows(runs.service.storage, 'workspace_patches'), 0);
    });
  });

describe('parley new --folder', () => {
  it('stops before the agent starts if the changes do not apply', async (t) => {
    const { folder, runs } = await begin(t);
    folder.write('README.md', 'changed\n');
    const patch = Buffer.from(`${folder.git('diff')}\n`.replace('-main', '-other')).toString('base64');
    const id = await runs.create('say hello', { repository: 'team/app', workspace_patch: { patch } });
    const { code, message, events } = await ending(runs, id);
    assert.equal(code, 'workspace_error');
    assert.match(message, /do not apply to the selected branch: .*README\.md/);
    assert.ok(events.every(({ source }) => source !== 'agent'));
  });

  it('starts with the files of a folder without a repository', async (t) => {
    const { runs, line } = await begin(t);
    const plain = plainFolder(t);
    plain.write('a.txt', 'carried\n');
    const ran = await line.run(['new', '--folder', plain.path, '--id', 'c', 'cat a.txt']);
    assert.match(ran.stderr, /is not a Git repository\. The workspace starts with a copy of its 1 file\./);
    assert.deepEqual(await runs.turns('c', 1), ['carried\n']);
  });

  it('starts with the files if the service does not know the host of the repository', async (t) => {
    const { folder, runs, line } = await begin(t);
    changeEverything(folder);
    for (const [id, url] of Object.entries({
      'c-https': 'https://git.company.example/team/app.git',
      'c-ssh': 'git@git.company.example:team/app.git',
    })) {
      folder.git('remote', 'set-url', 'origin', url);
      const ran = await line.run(['new', '--folder', folder.path, '--id', id, 'cat src/a.ts']);
      assert.equal(ran.code, 0, ran.stderr);
      assert.match(
        ran.stderr,
        /^The URL of the repository is not one of the git providers in your settings\..*The workspace starts with a copy of its 8 files\.$/m,
      );
      assert.deepEqual(await runs.turns(id, 1), ['a\nB\nc\n']);
    }
  });

  it('refuses a repository beside a folder, and what is not a patch', async (t) => {
    const { folder, runs, line } = await begin(t, {});
    const both = await line.run(['new', '--folder', folder.path, '--repo', 'a/b', 'x']);
    assert.deepEqual([both.code, /--folder determines the repository/.test(both.stderr)], [2, true]);
    const json = { workspace_patch: { base_commit: 'main', patch: 'ü' } };
    const { status, body } = await runs.service.ask('/api/conversations', { json });
    assert.equal(status, 422);
    const text = JSON.stringify(body);
    assert.match(text, /must be Base64/);
    assert.match(text, /must be the full hash of a commit/);
  });
});

describe('parley pull', () => {
  /** A conversation on the folder, in whose workspace these commands have run. */
  async function work(t: TestContext, commands: readonly string[], change = changeEverything) {
    const scene = await begin(t);
    const { folder, runs, line } = scene;
    change(folder);
    const ran = await line.run(['new', '--folder', folder.path, '--id', 'conversation-1', 'say hello']);
    assert.equal(ran.code, 0, ran.stderr);
    await runs.turns('conversation-1', 1);
    for (const [i, command] of commands.entries()) await shell(runs, 'conversation-1', i + 2, command);
    const pull = (...more: string[]) =>
      line.run(['pull', 'conversation-1', '--folder', folder.path, ...more]);
    const workspace = join((await filesOf(runs.service.storage, 'conversation-1')).root, 'workspace');
    return { ...scene, pull, workspace };
  }

  it('creates a branch with everything, and touches neither files nor index nor other branches', async (t) => {
    const { folder, pull, workspace } = await work(t, [
      'echo by the agent >> src/a.ts; echo new > agent.txt',
    ]);
    const before = [folder.git('status', '--porcelain'), folder.git('rev-parse', 'HEAD')];
    const ran = await pull();
    assert.equal(ran.code, 0, ran.stderr);
    assert.equal(ran.stdout, 'Created the branch parley/conversa with 9 changed files.\n');
    assert.equal(folder.git('rev-parse', 'parley/conversa^{tree}'), treeOf(workspace));
    assert.equal(folder.git('rev-parse', 'parley/conversa^'), folder.pushed);
    assert.match(
      folder.git('log', '-1', '--format=%B', 'parley/conversa'),
      /Parley-Conversation: conversation-1/,
    );
    assert.deepEqual([folder.git('status', '--porcelain'), folder.git('rev-parse', 'HEAD')], before);
    assert.match((await pull()).stdout, /^The branch parley\/conversa already has 9 changed files/);
    folder.git('update-ref', 'refs/heads/parley/conversa', folder.pushed);
    const [again] = jsonLines((await pull('--json')).stdout);
    assert.deepEqual([again.branch, again.created], ['parley/conversa-2', true]);
    assert.equal(folder.git('rev-parse', 'parley/conversa'), folder.pushed);
  });

  it('applies only the work of the agent to the files, and asks before it overwrites changes', async (t) => {
    const { folder, pull, workspace } = await work(t, [
      'echo more >> README.md; echo new > agent.txt; rm staged.txt',
    ]);
    const before = treeOf(folder.path);
    const refused = await pull('--apply');
    assert.equal(refused.code, 1, refused.stdout);
    assert.match(refused.stderr, /not committed: README\.md, staged\.txt\..*\nNothing was changed/);
    assert.equal(treeOf(folder.path), before);
    const forced = await pull('--apply', '--force');
    assert.equal(forced.code, 0, forced.stderr);
    assert.match(forced.stdout, /^Applied 3 changed files/);
    assert.equal(treeOf(folder.path), treeOf(workspace));
    const [, backup = ''] = /--source=(\S+)/.exec(forced.stderr) ?? [];
    assert.equal(folder.git('show', `${backup}:staged.txt`), 'staged');
  });

  it('applies to files without changes at once, and refuses what does not fit', async (t) => {
    const clean = () => {};
    const { folder, pull } = await work(t, ['echo new > agent.txt; echo more >> README.md'], clean);
    folder.write('agent.txt', 'mine\n');
    const taken = await pull('--apply', '--force');
    assert.deepEqual([taken.code, /do not apply.*agent\.txt/.test(taken.stderr)], [2, true], taken.stderr);
    assert.equal(readFileSync(join(folder.path, 'README.md'), 'utf8'), 'main\n');
    rmSync(join(folder.path, 'agent.txt'));
    assert.equal((await pull('--apply')).code, 0);
    assert.equal(readFileSync(join(folder.path, 'README.md'), 'utf8'), 'main\nmore\n');
    const again = await pull('--apply');
    assert.deepEqual([again.code, folder.git('branch', '--list', 'parley/*')], [0, '']);
    assert.match(again.stderr, /All changes of the conversation are in this folder already/);
  });

  it('leaves out names that Git does not take, and brings the rest', async (t) => {
    const odd = 'mkdir .GIT "git~1"; echo bad > .GIT/config; echo bad > "git~1/x"; echo new > agent.txt';
    const { folder, pull } = await work(t, [odd], () => {});
    for (const more of [[], ['--apply']]) {
      const ran = await pull(...more);
      assert.equal(ran.code, 0, ran.stderr);
      assert.match(ran.stderr, /^Left out, .*: \.GIT\/config, git~1\/x\.$/m);
    }
    assert.equal(folder.git('show', 'parley/conversa:agent.txt'), 'new');
    assert.equal(readFileSync(join(folder.path, 'agent.txt'), 'utf8'), 'new\n');
  });

  it('takes nothing over that leads out of the repository or runs by itself, unless asked', async (t) => {
    const link = 'ln -s /etc/passwd passwd; mkdir .vscode; echo "{}" > .vscode/tasks.json';
    const { folder, pull } = await work(t, [link], () => {});
    const links = await pull('--apply', '--force');
    assert.deepEqual([links.code, /links that lead out of the folder: passwd/.test(links.stderr)], [2, true]);
    assert.ok(!existsSync(join(folder.path, '.vscode')));
    const branch = await pull();
    assert.match(branch.stderr, /Review these files.*\.vscode\/tasks\.json/);
    assert.equal(folder.git('status', '--porcelain'), '');
  });

  it('needs a repository with the commit that the conversation began at', async (t) => {
    const { line, pull, folder } = await work(t, ['echo new > agent.txt'], () => {});
    const other = plainFolder(t);
    const plain = await line.run(['pull', 'conversation-1', '--folder', other.path]);
    assert.deepEqual([plain.code, /is not a Git repository/.test(plain.stderr)], [2, true]);
    git(other.path, ['init', '--quiet', '.']);
    for (const more of [[], ['--apply']]) {
      const wrong = await line.run(['pull', 'conversation-1', '--folder', other.path, ...more]);
      assert.deepEqual([wrong.code, /does not have the commit/.test(wrong.stderr)], [2, true], wrong.stderr);
    }
    assert.equal((await pull('--branch', 'mine', '--apply')).code, 2);
    assert.equal((await pull('--branch', 'mine')).code, 0);
    assert.equal(folder.git('show', 'mine:agent.txt'), 'new');
  });

  it('brings back changes of a folder without a repository', async (t) => {
    const { runs, line } = await begin(t);
    const plain = plainFolder(t);
    plain.write('a.txt', 'a\n');
    assert.equal((await line.run(['new', '--folder', plain.path, '--id', 'c', 'say hello'])).code, 0);
    await runs.turns('c', 1);
    await shell(runs, 'c', 2, 'echo b >> a.txt');
    const asked = await line.run(['pull', 'c', '--folder', plain.path, '--apply']);
    assert.deepEqual([asked.code, /there is no way back/.test(asked.stderr)], [1, true], asked.stderr);
    assert.equal((await line.run(['pull', 'c', '--folder', plain.path, '--apply', '--force'])).code, 0);
    assert.equal(readFileSync(join(plain.path, 'a.txt'), 'utf8'), 'a\nb\n');
  });
});
