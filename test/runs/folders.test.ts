// Local folders on their way to a conversation, from the command line to what the agent sees.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { createCommandLine } from '../support/commandLine.ts';
import { databaseKinds } from '../support/databases.ts';
import { countRows } from '../support/inspect.ts';
import { changeEverything, cloneFolder, plainFolder } from '../support/localFolder.ts';
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
