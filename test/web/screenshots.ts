// `npm run screenshots`: creates the screenshots of the docs from a service with a scripted model.
import { join } from 'node:path';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { createScriptedModel, listenScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';
import { commit, startGitServer } from '../support/gitServer.ts';
import { projectDir } from '../support/program.ts';
import { startRuns } from '../support/runs.ts';
import { enter, useBrowser } from './browser.ts';

const folder = join(projectDir, 'docs/images');
const before = `export async function deliver(message, attempt = 1) {
  const answer = await post(message);
  if (answer.ok) return 'delivered';
  await wait(1000 * attempt);
  return deliver(message, attempt + 1);
}
`;
const after = before.replace(
  '  await wait(1000 * attempt);\n',
  "  if (attempt >= attemptsMax) return 'given up';\n  await wait(backOffMs(attempt));\n",
);
const plan = (done: number) => ({
  call: {
    tool: 'update_plan',
    input: {
      entries: [
        'Find out why retries never end',
        'Limit the attempts, with a backoff',
        'Add a test',
        'Run all tests',
      ].map((content, i) => ({
        content,
        status: i < done ? 'completed' : i === done ? 'in_progress' : 'pending',
      })),
    },
  },
});
const script = [
  { call: { tool: 'update_plan', input: plan(0).call.input } },
  { run: "grep -rn 'attempt' src" },
  { call: { tool: 'update_plan', input: plan(1).call.input } },
  { call: { tool: 'edit_file', input: { path: 'src/outbox.js', old_text: before, new_text: after } } },
  { call: { tool: 'update_plan', input: plan(2).call.input } },
  { run: 'node --test' },
  { say: 'Done.' },
];
const task = 'Deliveries to an unreachable receiver are retried forever. Limit the attempts and add a test.';

async function shoot(page: Page, name: string): Promise<void> {
  await page.evaluate('document.activeElement?.blur()');
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
}

const browser = useBrowser();

it('creates the screenshots', async (t) => {
  const host = await startGitServer(t, { credential: 'x-access-token:token' });
  commit(host.repository('acme/shop'), 'main', {
    'src/outbox.js': before,
    'package.json': '{"name": "shop", "type": "module"}\n',
    'test/outbox.test.js': "import { it } from 'node:test';\nit('delivers a message', () => {});\n",
  });
  const model = createScriptedModel(script);
  const { origin, close } = await listenScriptedModel(model);
  t.after(close);
  const runs = await startRuns(
    {
      env: {
        PARLEY_GIT_HOSTS: `github=${host.url}`,
        PARLEY_MODEL_HOSTS: `anthropic=${origin}`,
        PARLEY_ALLOW_PRIVATE_ADDRESSES: '1',
      },
      settings: {
        agent: null,
        llm_model: 'anthropic/claude-sonnet-4-5',
        llm_api_key: 'key',
        confirmation_mode: true,
        // Only commands need approval.
        security_analyzer: 'invariant',
      },
    },
    t,
  );
  await runs.service.ask('/api/add-git-providers', {
    json: { provider_tokens: { github: { token: 'token' } } },
  });
  const page = await browser.open(t, runs.service.url, {
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
  });
  await enter(page, runs.service);
  for (const [title, repository] of [
    ['Write the release notes for 0.4', null],
    ['Why is the second page of the list empty?', 'acme/shop'],
    ['Update the dependencies and run all tests', 'acme/docs'],
  ] as const) {
    const id = await runs.create(title, repository === 'acme/shop' ? { repository } : {});
    await runs.stop(id);
    await runs.service.ask(`/api/conversations/${id}`, { method: 'PATCH', json: { title } });
  }
  const id = await runs.create(task, { repository: 'acme/shop', selected_branch: 'main' });
  await page.goto(`${runs.service.url}/conversations/${id}`);
  const log = page.getByRole('log');
  const approve = log.getByRole('button', { name: 'Approve', exact: true });
  await log.getByText('grep -rn').waitFor();
  await approve.click();
  await log.getByText('node --test').waitFor();
  await runs.service.ask(`/api/conversations/${id}`, {
    method: 'PATCH',
    json: { title: 'Limit the retries of the outbox' },
  });
  await page.getByRole('heading', { name: 'Limit the retries of the outbox' }).waitFor();
  await page.getByRole('button', { name: /src\/outbox\.js/ }).waitFor();
  await shoot(page, 'conversation');
  await page.goto(`${runs.service.url}/`);
  await page
    .getByLabel('Message to the agent')
    .fill('Add a health check to the worker, and a test that it fails when the queue is stuck.');
  await page.getByLabel('Repository', { exact: true }).fill('acme/shop');
  await page.getByText('Limit the retries of the outbox').waitFor();
  await shoot(page, 'home');
  await page.goto(`${runs.service.url}/settings/model`);
  await page.getByLabel('Model', { exact: true }).waitFor();
  await shoot(page, 'settings');
});
