// Agents that work in a folder of their user.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createCommandLine } from '../../test/support/commandLine.ts';
import { plainFolder, temporaryFolder } from '../../test/support/localFolder.ts';
import { filesOf, type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { ending, shell } from '../../test/support/runTalk.ts';
import { noBubblewrap } from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';

async function begin(t: TestContext, more: RunsOptions = {}) {
  const allowed = realpathSync(temporaryFolder(t));
  const env = { PARLEY_LOCAL_FOLDERS: allowed };
  const runs = await startRuns({ sandbox: 'bubblewrap', env, ...more }, t);
  const { path, write, git } = plainFolder(t, allowed);
  git('init', '--quiet', '.');
  write('a.txt', 'mine\n');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'first');
  return { runs, path, write, git, line: createCommandLine(runs.service, t) };
}

const names = (path: string) => readdirSync(path).toSorted();

describe('a run in a local folder', { skip: noBubblewrap }, () => {
  it('changes the folder itself, and leaves it alone when the conversation is stopped and deleted', async (t) => {
    const { runs, path, line } = await begin(t);
    const ran = await line.run(['new', '--folder', path, '--local', '--id', 'c', 'cat a.txt']);
    assert.equal(ran.code, 0, ran.stderr);
    assert.deepEqual(await runs.turns('c', 1), ['mine\n']);
    await shell(
      runs,
      'c',
      2,
      'echo by the agent >> a.txt; echo new > b.txt; git log --oneline | wc -l > count',
    );
    assert.equal(readFileSync(join(path, 'a.txt'), 'utf8'), 'mine\nby the agent\n');
    assert.equal(readFileSync(join(path, 'count'), 'utf8').trim(), '1');
    const { body } = await runs.service.ask('/api/conversations/c/list-files');
    assert.deepEqual(
      body.filter((name: string) => !name.startsWith('.') && !name.endsWith('/')),
      ['a.txt', 'b.txt', 'count'],
    );
    const { root } = await filesOf(runs.service.storage, 'c');
    assert.deepEqual(names(join(root, 'workspace')), []);
    await runs.stop('c');
    await until('the folder is as it was', () => !existsSync(join(path, '.husky')));
    assert.deepEqual(names(path), ['.git', 'a.txt', 'b.txt', 'count']);
    await runs.service.ask('/api/conversations/c', { method: 'DELETE' });
    assert.deepEqual(names(path), ['.git', 'a.txt', 'b.txt', 'count']);
  });

  it('cannot change what programs outside act on, nor move it away or put something in its place', async (t) => {
    const { runs, path, write } = await begin(t);
    write('.envrc', 'mine');
    write('.vscode/tasks.json', 'mine');
    const id = await runs.create('say hello', { local_folder: path });
    await runs.turns(id, 1);
    const attempts = [
      ...['echo x > .git/hooks/post-checkout', 'echo x >> .git/config', 'git config core.fsmonitor x'],
      ...['mv .git g', 'rm -rf .git', 'mkdir .git2 && mv -T .git2 .git', 'echo ../x > .git/commondir'],
      ...['echo x > .envrc', 'rm -f .envrc', 'mv .envrc e', 'echo x > y && mv y .envrc', 'ln -f y .envrc'],
      ...['echo x > .vscode/tasks.json', 'rm -rf .vscode', 'mv .vscode v', 'ln -s /tmp .idea', 'rmdir .idea'],
      ...[
        'mkdir -p .idea/x',
        'echo x > .husky/pre-commit',
        'mv .husky h',
        'umount .idea',
        'mount -o remount,rw .git',
      ],
    ];
    const script = attempts
      .map((line) => `(${line}) >/dev/null 2>&1 && echo "${line.replaceAll('"', '')}"`)
      .join('; ');
    const done = await shell(runs, id, 2, `${script}; echo tried`);
    assert.equal(done.trim(), 'tried');
    assert.equal(readFileSync(join(path, '.envrc'), 'utf8'), 'mine');
    assert.equal(readFileSync(join(path, '.vscode/tasks.json'), 'utf8'), 'mine');
    assert.ok(!existsSync(join(path, '.git/hooks/post-checkout')));
    assert.deepEqual([names(join(path, '.idea')), names(join(path, '.husky'))], [[], []]);
  });

  it('is the only one in its folder; another one starts when it has stopped', async (t) => {
    const { runs, path } = await begin(t);
    const first = await runs.create('say hello', { local_folder: path });
    await runs.turns(first, 1);
    const second = await runs.create('cat a.txt', { local_folder: path });
    const { code, message } = await ending(runs, second);
    assert.equal(code, 'workspace_error');
    assert.match(message, new RegExp(`The conversation ${first} works in the same folder`));
    await runs.stop(first);
    await until('the folder is free', () => !existsSync(join(path, '.husky')));
    await runs.say(second, 'cat a.txt');
    assert.match((await runs.turns(second, 1)).join(), /mine/);
  });
});

describe('a local folder', () => {
  it('needs bubblewrap: without a sandbox the conversation stops before the agent starts', async (t) => {
    const { runs, path } = await begin(t, { sandbox: 'process' });
    const { code, message } = await ending(runs, await runs.create('say hello', { local_folder: path }));
    assert.equal(code, 'workspace_error');
    assert.match(message, /needs bubblewrap/);
    assert.deepEqual(names(path), ['.git', 'a.txt']);
  });

  it('is refused at the creation unless the operator allows it, 422', async (t) => {
    const { runs, path, line } = await begin(t);
    const ask = (json: object) => runs.service.ask('/api/conversations', { json });
    const other = await ask({ local_folder: realpathSync(temporaryFolder(t)) });
    assert.equal(other.status, 422);
    assert.match(other.text, /local_folder.*PARLEY_LOCAL_FOLDERS/);
    const both = await ask({ local_folder: path, workspace_patch: { patch: '' } });
    assert.match(both.text, /cannot be combined with workspace_patch/);
    const alone = await line.run(['new', '--local', 'x']);
    assert.deepEqual([alone.code, /--local needs a --folder/.test(alone.stderr)], [2, true]);
    assert.deepEqual((await runs.service.ask('/api/conversations')).body.results, []);
  });
});
