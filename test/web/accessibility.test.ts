// Every screen is accessible: in both themes, on a phone, by keyboard alone, and in both languages.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noBrowser } from '../support/chromium.ts';
import { type Runs, startRuns } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { faultsOf } from './axe.ts';
import { enter, useBrowser } from './browser.ts';

async function startConversation(t: Parameters<typeof startRuns>[1]): Promise<{ runs: Runs; id: string }> {
  const runs = await startRuns({ settings: { llm_model: null } }, t);
  const lines = [
    'think Hm.',
    'plan One;Two;Three',
    'really-run echo out; exit 3',
    'edit a.txt hello',
    'say Some `code`, a [link](https://example.com), and\n',
    'mcp docs search',
  ];
  const id = await runs.create(lines.join('\n'));
  await runs.turns(id, 1);
  // Enabled only now: in confirmation mode an agent that acts without approval is stopped.
  const json = { confirmation_mode: true };
  await runs.service.ask('/api/settings', { method: 'PATCH', json });
  await runs.say(id, 'ask execute something');
  await until('the agent asks for approval', async () =>
    (await runs.events(id)).some((event) => event.extras?.['agent_state'] === 'awaiting_user_confirmation'),
  );
  return { runs, id };
}

describe('every screen', { skip: noBrowser }, () => {
  const browser = useBrowser();

  for (const colorScheme of ['light', 'dark'] as const)
    it(`has no axe violations in the ${colorScheme} theme, and fits a phone`, async (t) => {
      const { runs, id } = await startConversation(t);
      const { url } = runs.service;
      const page = await browser.open(t, url, { colorScheme, reducedMotion: 'reduce' });
      await page.goto(url);
      await page.getByLabel('API key').waitFor();
      const faults: string[] = [];
      const check = async (name: string) => {
        faults.push(...(await faultsOf(page, name)));
        await page.setViewportSize({ width: 320, height: 640 });
        const width = await page.evaluate<number>('document.documentElement.scrollWidth');
        if (width > 320) faults.push(`${name}: ${width} px wide`);
        // A phone has another layout; the colours are the same and need no second check.
        if (colorScheme === 'light') faults.push(...(await faultsOf(page, `${name}, small`)));
        await page.setViewportSize({ width: 1280, height: 860 });
      };
      await check('sign in');
      await enter(page, runs.service);
      await page.locator('.rows li').first().waitFor();
      await page.getByRole('button', { name: 'More options' }).click();
      await check('home');
      await page.keyboard.press('Escape');
      await page.getByRole('heading', { level: 1 }).click();
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
      await check('shortcuts');
      await page.keyboard.press('Escape');
      await page.goto(`${url}/conversations/${id}`);
      await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
      await page.getByText('Refresh').waitFor();
      await page.locator('.group-head').click();
      await page.locator('.diff').waitFor();
      await page.keyboard.press('Control+f');
      await page.getByRole('searchbox', { name: 'Search this conversation' }).waitFor();
      await check('conversation');
      await page.getByRole('button', { name: 'More' }).click();
      await check('menu');
      await page.getByRole('button', { name: 'Delete' }).click();
      await check('delete');
      await runs.service.ask('/api/settings', { json: { agent: 'slow' } });
      await page.goto(`${url}/conversations/${await runs.create('say hello')}`);
      await page.locator('.steps .current', { hasText: 'Starting the agent' }).waitFor();
      await check('starting');
      await page.goto(`${url}/settings/model`);
      await page.getByLabel('Model', { exact: true }).waitFor();
      await check('settings');
      assert.deepEqual(faults, []);
    });

  it('uses the language of the settings', async (t) => {
    const runs = await startRuns({ settings: { language: 'de' } }, t);
    const page = await browser.open(t, runs.service.url);
    await page.goto(`${runs.service.url}/#key=${runs.service.key}`);
    await page.getByRole('heading', { name: 'Woran möchten Sie arbeiten?' }).waitFor();
    assert.equal(await page.evaluate('document.documentElement.lang'), 'de');
    await runs.service.ask('/api/settings', { json: { language: 'ja' } });
    await page.reload();
    await page.getByRole('heading', { name: 'What would you like to work on?' }).waitFor();
  });

  it('can be reached and used by keyboard alone', async (t) => {
    const runs = await startRuns({}, t);
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, '/settings/about');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to content');
    await page.keyboard.press('n');
    await page.keyboard.type('say by keys');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('log').getByText('by keys', { exact: true }).waitFor();
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('m');
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'TEXTAREA');
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('d');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    await page.keyboard.press('t');
    assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'light');
    await page.keyboard.press('?');
    await page.getByLabel('Enable single-key shortcuts').click();
    await page.keyboard.press('Escape');
    await page.keyboard.press('n');
    assert.match(page.url(), /conversations/);
  });
});
