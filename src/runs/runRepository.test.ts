// Runs of conversations with a repository, from the request that names it to the branch that the agent pushes.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { commit, type GitServer, git, startGitServer } from '../../test/support/gitServer.ts';
import { type Runs, type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { ending, errorsAndNotices, shell } from '../../test/support/runTalk.ts';
import { noBubblewrap } from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';
import { readZip } from '../../test/support/zip.ts';

const token = 'the-git-token';
const setup = '.openhands/setup.sh';

interface Scene extends Runs {
  readonly host: GitServer;
  readonly repository: string;
}

/** A host with one repository, and its token in the settings of the owner. */
async function startScene(
  t: TestContext,
  more: RunsOptions & { token?: string | null } = {},
): Promise<Scene> {
  const host = await startGitServer(t, { credential: `x-access-token:${token}` });
  const repository = host.repository('team/app');
  commit(repository, 'main', { 'README.md': 'main\n', 'src/a.ts': 'a\n' });
  commit(repository, 'next', {
    'README.md': 'next\n',
    [setup]: 'echo "made over $HTTPS_PROXY" | cut -d: -f1 >made.txt\n',
  });
  commit(repository, 'broken', { [setup]: 'echo what went wrong >&2\nexit 3\n' });
  const { token: given = token, ...options } = more;
  const runs = await startRuns({ ...options, env: { PARLEY_GIT_HOSTS: `github=${host.url}` } }, t);
  const json = { provider_tokens: { github: { token: given } } };
  if (given !== null) assert.equal((await runs.service.ask('/api/add-git-providers', { json })).status, 200);
  return { ...runs, host, repository };
}

const onMain = { repository: 'team/app' };

describe('a run with a repository', () => {
  it('has it at the selected branch, with what its setup script made over the network', async (t) => {
    const runs = await startScene(t);
    const id = await runs.create('cat README.md\ncat made.txt', { ...onMain, selected_branch: 'next' });
    assert.deepEqual(await runs.turns(id, 1), ['next\nmade over http\n']);
    assert.deepEqual(errorsAndNotices(await runs.events(id)), []);
  });

  it('begins with the prompt of a suggested task, and with its repository', async (t) => {
    const runs = await startScene(t);
    const suggested_task = {
      title: 'It breaks',
      repo: 'team/app',
      git_provider: 'github',
      task_type: 'OPEN_ISSUE',
      issue_number: 7,
    };
    const id = await runs.create('cat README.md', { suggested_task });
    assert.deepEqual(await runs.turns(id, 1), ['main\n']);
    const [first] = await runs.events(id);
    assert.match(first?.message ?? '', /^Work on issue #7 of team\/app\..*\n\ncat README.md$/s);
  });

  it('continues without its setup script if that fails, and reports its output', async (t) => {
    const runs = await startScene(t);
    const id = await runs.create('say hello', { ...onMain, selected_branch: 'broken' });
    assert.deepEqual(await runs.turns(id, 1), ['hello']);
    const failed = (await runs.events(id)).find(({ extras }) => extras?.['error_id'] === 'SETUP_SCRIPT');
    assert.equal(failed?.content, '.openhands/setup.sh failed with code 3.\nwhat went wrong\n');
  });

  it('does not run its setup script without approval, and says so', async (t) => {
    const runs = await startScene(t, { settings: { confirmation_mode: true } });
    const id = await runs.create('say hello', { ...onMain, selected_branch: 'next' });
    assert.deepEqual(await runs.turns(id, 1), ['hello']);
    const refused = (await runs.events(id)).find(({ extras }) => extras?.['error_id'] === 'SETUP_SCRIPT');
    assert.match(
      refused?.content ?? '',
      /^\.openhands\/setup\.sh was not run, because confirmation_mode is on/,
    );
    const { body } = await runs.service.ask(`/api/conversations/${id}/list-files`);
    assert.ok(body.includes('README.md') && !body.includes('made.txt'), JSON.stringify(body));
  });

  for (const [what, given, more, sentence] of [
    [
      'the token is wrong',
      'another-token',
      {},
      /^127\.0\.0\.1:\d+ does not allow the token in your settings to read team\/app\.$/,
    ],
    [
      'there is no token',
      null,
      {},
      /^127\.0\.0\.1:\d+ requires an access token for team\/app, and no github token is set in your settings\. Store one there, and try again\.$/,
    ],
    [
      'there is no such branch',
      token,
      { selected_branch: 'nowhere' },
      /^There is no branch "nowhere" in team\/app\.$/,
    ],
    [
      'there is no such repository',
      token,
      { repository: 'team/none' },
      /^127\.0\.0\.1:\d+ has no repository team\/none that the token in your settings can access\.$/,
    ],
    [
      'the name is none',
      token,
      { repository: 'app' },
      /^The name of the repository must be of the form owner\/name\.$/,
    ],
  ] as const)
    it(`stops with a sentence if ${what}`, async (t) => {
      const runs = await startScene(t, { token: given });
      const id = await runs.create('say hello', { ...onMain, ...more });
      const { code, message, events } = await ending(runs, id);
      assert.equal(code, 'workspace_error');
      assert.match(message, sentence);
      assert.deepEqual(errorsAndNotices(events), [message]);
    });

  it('reports progress while it is prepared', async (t) => {
    const runs = await startScene(t);
    commit(runs.repository, 'slow', { [setup]: 'while [ ! -e go ]; do sleep 0.02; done\n' });
    const id = await runs.create('say hello', { ...onMain, selected_branch: 'slow' });
    const progress = await until('the setup script runs', async () => {
      const { start_progress: now } = await runs.info(id);
      return now?.details?.includes('setup.sh') && now;
    });
    assert.deepEqual(progress, { step: 'preparing_workspace', details: 'Running .openhands/setup.sh' });
    await runs.service.ask(`/api/conversations/${id}/stop`, { method: 'POST' });
    assert.equal((await ending(runs, id)).code, 'user');
  });
});

describe('a run with a repository in bubblewrap', { skip: noBubblewrap }, () => {
  it('lets the agent commit and push a branch, as the user of the settings', async (t) => {
    const settings = { git_user_name: 'Ada L', git_user_email: 'ada@example.com' };
    const runs = await startScene(t, { sandbox: 'bubblewrap', settings });
    const id = await runs.create('say ready', onMain);
    await runs.turns(id, 1);
    const commands = 'git checkout -q -b work && echo more >>README.md && git commit -qam "Say more"';
    const said = await shell(runs, id, 2, `${commands} && git push -q origin work 2>&1`);
    const { body: changes } = await runs.service.ask(`/api/conversations/${id}/git/changes`);
    assert.equal(changes.length, 1, 'what was pushed is still told as changed');
    const [author, committer] = git(runs.repository, [
      'log',
      '-1',
      '--format=%an <%ae>%n%cn <%ce>',
      'work',
    ]).split('\n');
    assert.deepEqual([author, committer], Array(2).fill('Ada L <ada@example.com>'), said);
    assert.equal(git(runs.repository, ['show', 'work:README.md']), 'main\nmore');
    assert.match(
      await shell(runs, id, 3, 'git push origin :main 2>&1'),
      /branches cannot be deleted from here/,
    );
    assert.match(git(runs.repository, ['branch', '--list', 'main']), /main/);
  });

  it('can be read while its agent works', async (t) => {
    const runs = await startScene(t, { sandbox: 'bubblewrap' });
    const id = await runs.create('edit README.md changed\nedit new.txt new\nsay made\nhang', onMain);
    await until('the files are made', async () =>
      (await runs.events(id)).some(
        ({ observation, extras }) => observation === 'edit' && String(extras?.['path']).endsWith('new.txt'),
      ),
    );
    const get = (path: string) => runs.service.ask(`/api/conversations/${id}/${path}`);
    assert.deepEqual((await get('git/changes')).body, [
      { status: 'M', path: 'README.md' },
      { status: 'A', path: 'new.txt' },
    ]);
    assert.deepEqual((await get('git/diff?path=README.md')).body, {
      modified: 'changed',
      original: 'main\n',
    });
    assert.deepEqual((await get('list-files')).body, ['src/', 'new.txt', 'README.md']);
    assert.deepEqual((await get('select-file?file=src/a.ts')).body, { code: 'a\n' });
    const archive = await fetch(`${runs.service.url}/api/conversations/${id}/zip-directory`, {
      headers: { 'x-session-api-key': runs.service.key },
    });
    const files = readZip(Buffer.from(await archive.arrayBuffer())).map(({ name }) => name.toString());
    assert.deepEqual(files.toSorted(), ['README.md', 'new.txt', 'src/', 'src/a.ts']);
    assert.equal((await runs.info(id)).status, 'RUNNING');
  });
});
