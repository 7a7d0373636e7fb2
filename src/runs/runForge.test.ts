// The tools for pull requests and issues in a run: there for an agent whose user has a token, which stays outside.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createFakeForge } from '../../test/support/forge.ts';
import { commit, startGitServer } from '../../test/support/gitServer.ts';
import { type Runs, type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { errorsAndNotices } from '../../test/support/runTalk.ts';
import { noBubblewrap } from '../../test/support/sandboxes.ts';

const token = 'ghp_hunter2hunter2';

async function addToken({ service }: Pick<Runs, 'service'>): Promise<void> {
  const json = { provider_tokens: { github: { token } } };
  assert.equal((await service.ask('/api/add-git-providers', { json })).status, 200);
}

async function startScene(t: TestContext, more: RunsOptions & { hasToken?: boolean } = {}) {
  const { hasToken = true, ...options } = more;
  const forge = createFakeForge('github', { authorization: `Bearer ${token}` });
  const host = await startGitServer(t, { api: forge.handle });
  commit(host.repository('team/app'), 'main', { 'README.md': 'main\n' });
  const runs = await startRuns({ ...options, env: { PARLEY_GIT_HOSTS: `github=${host.url}` } }, t);
  if (hasToken) await addToken(runs);
  return { ...runs, forge, host };
}

const onMain = { repository: 'team/app', selected_branch: 'main' };
const proposal = { title: 'Mend it', body: 'Closes #7.', branch: 'work' };

for (const sandbox of ['process', 'bubblewrap'] as const)
  describe(`our own tools in ${sandbox}`, { skip: sandbox === 'bubblewrap' && noBubblewrap }, () => {
    it('open a pull request, which is a tool call in the log, and keep the token outside', async (t) => {
      const { create, turns, events, forge, host, service } = await startScene(t, { sandbox });
      const id = await create(
        [
          'mcp-servers',
          `mcp-call parley open_pull_request ${JSON.stringify(proposal)}`,
          'mcp-call parley read_issue {"number":7,"kind":"issue"}',
          'really-run env; cat /proc/$PPID/environ; grep -r hunter2 ~ .',
        ].join('\n'),
        onMain,
      );
      const [servers = ''] = await turns(id, 1);
      assert.match(servers, /^parley http http:\/\/127\.0\.0\.1:\d+\/parley headers:Authorization$/);
      assert.deepEqual(forge.opened, [{ ...proposal, base: 'main', number: 1 }]);
      const log = await events(id);
      const calls = log.filter(({ action }) => action === 'call_tool_mcp');
      assert.deepEqual(calls[0]?.args, {
        name: 'parley/open_pull_request',
        arguments: proposal,
        thought: '',
      });
      const answers = log
        .filter(({ observation }) => observation === 'mcp')
        .map(({ content }) => content ?? '');
      const wanted = `Opened pull request #1: ${host.url}/team/app/pull/1`;
      assert.ok(answers[0]?.includes(wanted), String(answers[0]));
      assert.match(answers[1] ?? '', /Issue #7: It breaks/);
      assert.ok(!JSON.stringify(log).includes('hunter2hunter2') && !service.logs().includes(token));
    });
  });

describe('our own tools', () => {
  it('do not exist without a token, nor without a repository', async (t) => {
    const scene = await startScene(t, { hasToken: false });
    assert.deepEqual(await scene.turns(await scene.create('mcp-servers', onMain), 1), ['no MCP servers']);
    await addToken(scene);
    assert.deepEqual(await scene.turns(await scene.create('mcp-servers'), 1), ['no MCP servers']);
  });

  it('are left out, and the log says so, if the agent does not support them', async (t) => {
    const { create, turns, events } = await startScene(t, { flags: ['--no-http-mcp'] });
    const id = await create('mcp-servers', onMain);
    assert.deepEqual(await turns(id, 1), ['no MCP servers']);
    assert.deepEqual(errorsAndNotices(await events(id)), [
      'The tools for pull requests and issues are not available: this agent does not support MCP servers over HTTP.',
    ]);
  });
});
