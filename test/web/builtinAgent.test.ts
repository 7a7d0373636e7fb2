// A user's first task, from end to end: set a model in the web UI, and have the built-in agent use it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createScriptedModel, listenScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';
import { noBrowser } from '../support/chromium.ts';
import { startRuns } from '../support/runs.ts';
import { enter, useBrowser } from './browser.ts';

const key = 'sk-canary-of-the-page-5d1f';

describe('the built-in agent in the web UI', { skip: noBrowser }, () => {
  const browser = useBrowser();

  it('works after the user has set a model and approved its action', async (t) => {
    const model = createScriptedModel([
      { run: 'echo done by hand' },
      { write: { path: 'haiku.txt', text: 'an old pond\na frog leaps in\n' } },
      { say: 'It is **written**.' },
    ]);
    const { origin, close } = await listenScriptedModel(model);
    t.after(close);
    const runs = await startRuns(
      {
        env: { PARLEY_MODEL_HOSTS: `deepseek=${origin}`, PARLEY_ALLOW_PRIVATE_ADDRESSES: '1' },
        settings: { agent: null, confirmation_mode: true },
      },
      t,
    );
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service);
    await page.getByRole('link', { name: 'Choose a model' }).click();
    await page.getByLabel('Model', { exact: true }).fill('deepseek/deepseek-chat');
    await page.getByLabel('Base URL').fill('nonsense');
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('must be an http or https URL with a host').waitFor();
    await page.getByLabel('Base URL').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.getByText('A value is stored. It cannot be shown.').waitFor();
    assert.ok(!(await page.content()).includes(key));
    assert.ok(!(await page.evaluate<string>('JSON.stringify([sessionStorage, localStorage])')).includes(key));

    await page.getByRole('link', { name: 'New conversation' }).click();
    await page.getByLabel('Message to the agent').fill('Write a haiku to haiku.txt');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    const log = page.getByRole('log');
    await log.getByText('echo done by hand').waitFor();
    await log.getByRole('button', { name: 'Approve', exact: true }).click();
    await log.getByText('+an old pond').waitFor();
    await log.getByRole('button', { name: 'Approve', exact: true }).click();
    await log.getByText('It is written.').waitFor();
    await page.getByRole('button', { name: /added haiku\.txt/ }).waitFor();
    await page
      .getByRole('complementary')
      .getByText(/^\$0\.0\d/)
      .waitFor();
  });
});
