// The built-in agent, from a request to a branch that it pushes, over each of the model APIs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { assertWithout, descendants, filesBelow } from '../../test/support/canaries.ts';
import { commit, git, startGitServer } from '../../test/support/gitServer.ts';
import { startMcpServer } from '../../test/support/mcpServer.ts';
import { startRuns } from '../../test/support/runs.ts';
import { errorsAndNotices } from '../../test/support/runTalk.ts';
import { noBubblewrap } from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';
import type { Step } from '../agents/trial/scriptedModel/script.ts';
import { createScriptedModel, listenScriptedModel } from '../agents/trial/scriptedModel/server.ts';

const keys = {
  model: 'sk-canary-of-the-model-71c2',
  git: 'ghp-canary-of-the-git-host-71c2',
  mcp: 'mcp-canary-of-the-tools-71c2',
};

async function startScene(
  t: TestContext,
  script: readonly Step[],
  { sandbox = 'process', settings = {} }: { sandbox?: 'process' | 'bubblewrap'; settings?: object } = {},
) {
  const host = await startGitServer(t, { credential: `x-access-token:${keys.git}` });
  const repository = host.repository('team/app');
  commit(repository, 'main', { 'README.md': 'main\n', 'AGENTS.md': 'Sing while you work.\n' });
  const mcp = await startMcpServer(t, { form: 'json', key: keys.mcp, tools: ['lookup'] });
  const model = createScriptedModel(script);
  const { origin, close } = await listenScriptedModel(model);
  t.after(close);
  const runs = await startRuns(
    {
      sandbox,
      env: {
        PARLEY_GIT_HOSTS: `github=${host.url}`,
        PARLEY_MODEL_HOSTS: ['openai', 'anthropic', 'gemini', 'deepseek']
          .map((name) => `${name}=${origin}`)
          .join(),
        PARLEY_ALLOW_PRIVATE_ADDRESSES: '1',
      },
      settings: {
        agent: null,
        llm_model: 'deepseek/deepseek-chat',
        llm_api_key: keys.model,
        mcp_config: { shttp_servers: [{ url: mcp.url, api_key: keys.mcp }] },
        ...settings,
      },
    },
    t,
  );
  await runs.service.ask('/api/add-git-providers', {
    json: { provider_tokens: { github: { token: keys.git } } },
  });
  return { ...runs, model, mcp, repository };
}

const push =
  'git switch -qc work && echo new >new.txt && git add -A && git commit -qm new && git push -q origin work';
const apis = {
  'openai-chat': 'deepseek/deepseek-chat',
  'openai-responses': 'openai/gpt-4o',
  anthropic: 'anthropic/claude-sonnet-4-5',
  gemini: 'gemini/gemini-2.5-pro',
};

describe('a run of the built-in agent', () => {
  for (const [name, llm_model] of Object.entries(apis))
    it(`ends with a branch that is pushed, over ${name}`, { skip: noBubblewrap }, async (t) => {
      const script = [{ run: push }, { call: { tool: 'lookup', input: { q: 1 } } }, { say: 'It is pushed.' }];
      const scene = await startScene(t, script, { sandbox: 'bubblewrap', settings: { llm_model } });
      const id = await scene.create('Please write something new to this repository, and push it.', {
        repository: 'team/app',
      });
      assert.deepEqual(await scene.turns(id, 1), ['It is pushed.']);
      assert.equal(git(scene.repository, ['show', 'work:new.txt']), 'new');
      const events = await scene.events(id);
      assert.deepEqual(errorsAndNotices(events), []);
      assert.ok(
        events.some(
          ({ observation, extras }) => observation === 'mcp' && extras?.['outcome'] === 'completed',
        ),
      );
      assert.ok(scene.model.exchanges.some(({ request }) => /Sing while you work/.test(request.prompt)));
      await until(
        'it has a title',
        async () => ((await scene.info(id)) as unknown as { title: string }).title === 'Scripted',
      );

      for (const text of [...descendants('environ'), ...descendants('cmdline')].filter((one) =>
        one.includes('pr_'),
      ))
        assertWithout(Object.values(keys), 'processes', text);
      for (const file of filesBelow(scene.service.storage.dataDir))
        assertWithout(Object.values(keys), file, readFileSync(file));
      assertWithout(Object.values(keys), 'log', JSON.stringify(events) + scene.service.logs());
    });

  it('says what to configure if there is no model, and works with the next message once there is one', async (t) => {
    const scene = await startScene(t, [{ say: 'Hello.' }], {
      settings: { llm_model: null, llm_api_key: '' },
    });
    const id = await scene.create('Are you there?');
    await scene.turns(id, 1);
    assert.match(
      errorsAndNotices(await scene.events(id)).join(),
      /No model is set\. Set llm_model in your settings/,
    );
    const json = { llm_model: 'deepseek/deepseek-chat', llm_api_key: keys.model };
    await scene.service.ask('/api/settings', { json });
    await scene.say(id, 'And now?');
    assert.deepEqual(await scene.turns(id, 2), ['Hello.']);
  });

  it('lists the known prefixes if that of the model is unknown', async (t) => {
    const scene = await startScene(t, [], { settings: { llm_model: 'nonsense/x' } });
    const id = await scene.create('Are you there?');
    await scene.turns(id, 1);
    assert.match(
      errorsAndNotices(await scene.events(id)).join(),
      /anthropic\/, openai\/, gemini\/.* or set llm_base_url/,
    );
  });
});
