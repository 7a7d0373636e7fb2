// Every section of the settings is accessible: in both themes, on a phone, by keyboard alone, and in German.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser } from '../support/chromium.ts';
import { startService } from '../support/service.ts';
import { faultsOf } from './axe.ts';
import { enter, useBrowser } from './browser.ts';

const overflowOf = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');

/** Starts a service that has an entry in every list. */
async function startServiceWithEntries(t: TestContext, language: string | null) {
  const service = await startService({}, t);
  const mcp_config = {
    shttp_servers: [{ url: `https://tools.example.com/${'long/'.repeat(12)}mcp`, api_key: 'k' }],
    stdio_servers: [{ name: 'files', command: 'npx', args: ['-y', 'files-server'], env: { TOKEN: 'x' } }],
  };
  const json = { llm_api_key: 'k', search_api_key: 'k', language, mcp_config };
  await service.ask('/api/settings', { method: 'PATCH', json });
  await service.ask('/api/secrets', { json: { name: 'A'.repeat(64), value: 'v', description: 'for it' } });
  const provider_tokens = { gitlab: { token: 'x', host: 'git.example.com' } };
  await service.ask('/api/add-git-providers', { json: { provider_tokens } });
  await service.ask('/api/keys', { json: { name: 'laptop' } });
  const url = `https://bot.example.com/${'x'.repeat(80)}`;
  await service.ask('/api/webhooks', { json: { url, events: ['conversation.status'] } });
  await service.ask('/api/conversations', { json: {} });
  return service;
}

/** The buttons to click in a section, so that its forms and lists are open. */
const openButtons: Readonly<Record<string, readonly string[]>> = {
  model: ['Add: openai'],
  git: ['Replace: GitLab'],
  tools: ['Edit: files'],
  secrets: ['Add secret'],
  keys: ['Create API key'],
  webhooks: ['Add webhook', 'Deliveries: https://bot'],
};

const sections = ['model', 'agent', 'general', 'git', 'tools', 'secrets', 'keys', 'webhooks', 'about'];

describe('every section of the settings', { skip: noBrowser }, () => {
  const browser = useBrowser();

  // Only the contrast depends on the theme.
  const themes = [
    { colorScheme: 'light', rules: {} },
    { colorScheme: 'dark', rules: { runOnly: ['color-contrast'] } },
  ] as const;
  for (const { colorScheme, rules } of themes)
    it(`has no axe violations in the ${colorScheme} theme, and fits a phone`, async (t) => {
      const service = await startServiceWithEntries(t, null);
      const page = await browser.open(t, service.url, { colorScheme, reducedMotion: 'reduce' });
      await enter(page, service, '/settings/model');
      const faults: string[] = [];
      for (const section of sections) {
        await page.getByRole('navigation', { name: 'Sections' }).locator(`a[href$="${section}"]`).click();
        await page.locator('.section').first().waitFor();
        for (const name of openButtons[section] ?? [])
          await page.getByRole('button', { name }).first().click();
        faults.push(...(await faultsOf(page, section, rules)));
        await page.setViewportSize({ width: 320, height: 640 });
        const overflow = await overflowOf(page);
        if (overflow > 0) faults.push(`${section}: ${overflow} px too wide`);
        await page.setViewportSize({ width: 1280, height: 860 });
      }
      assert.deepEqual(faults, []);
    });

  it('has no axe violations with MCP servers as JSON, with an open form, and with a new key', async (t) => {
    const service = await startServiceWithEntries(t, null);
    const page = await browser.open(t, service.url, { reducedMotion: 'reduce' });
    await enter(page, service, '/settings/tools');
    await page.getByRole('button', { name: 'Add MCP server' }).click();
    const faults = await faultsOf(page, 'a new server');
    await page.getByRole('button', { name: 'JSON' }).click();
    faults.push(...(await faultsOf(page, 'JSON')));
    await page.getByRole('link', { name: 'API keys', exact: true }).click();
    await page.getByRole('button', { name: 'Create API key' }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('must not be empty').waitFor();
    faults.push(...(await faultsOf(page, 'an error')));
    await page.getByLabel('Name').fill('phone');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: 'Copy' }).waitFor();
    faults.push(...(await faultsOf(page, 'a key')));
    await page.getByRole('link', { name: 'Model', exact: true }).click();
    await page.getByRole('dialog').waitFor();
    faults.push(...(await faultsOf(page, 'the unsaved changes dialog')));
    assert.deepEqual(faults, []);
  });

  it('is complete in German', async (t) => {
    const service = await startServiceWithEntries(t, 'de');
    const page = await browser.open(t, service.url);
    await page.goto(`${service.url}/settings/model#key=${service.key}`);
    const links = page.getByRole('navigation', { name: 'Bereiche' }).getByRole('link');
    await links.first().waitFor();
    assert.deepEqual(await links.allInnerTexts(), [
      'Modell',
      'Agent',
      'Allgemein',
      'Git',
      'MCP-Server',
      'Secrets',
      'API-Schlüssel',
      'Webhooks',
      'Über Parley',
    ]);
    for (const link of await links.all()) {
      await link.click();
      await page.getByRole('heading', { level: 2, name: await link.innerText(), exact: true }).waitFor();
      const text = await page.getByRole('main').innerText();
      assert.doesNotMatch(text, /\b(the|of|and|Default|undefined|Remove|Save|Edit)\b/);
    }
  });

  it('can be changed and saved by keyboard alone', async (t) => {
    const service = await startServiceWithEntries(t, null);
    const page = await browser.open(t, service.url);
    await enter(page, service, '/settings/secrets');
    await page.getByRole('button', { name: 'Add secret' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('NPM_TOKEN');
    await page.keyboard.press('Tab');
    await page.keyboard.type('a value');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Edit: NPM_TOKEN' }).waitFor();
    const focused = () =>
      page.evaluate(
        'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent',
      );
    assert.equal(await focused(), 'Add secret');
    await page.getByRole('button', { name: 'Edit: NPM_TOKEN' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Cancel' }).focus();
    await page.keyboard.press('Enter');
    assert.equal(await focused(), 'Edit: NPM_TOKEN');
    await page.getByRole('button', { name: 'Remove: NPM_TOKEN' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await focused(), 'Remove: NPM_TOKEN');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await focused(), 'Secrets');
  });
});
