// The settings in the web UI: every field can be set, no text is lost, and secrets are never shown.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { FullSettings } from '../../src/settings/schema.ts';
import { noBrowser } from '../support/chromium.ts';
import { inspect } from '../support/inspect.ts';
import { startService, type TestService } from '../support/service.ts';
import { enter, useBrowser } from './browser.ts';

/** Read-only fields, which show whether others are set. */
const readOnlyFields = [
  'llm_api_key_set',
  'search_api_key_set',
  'provider_tokens_set',
  'secrets_store',
  'email_verified',
];

describe('the settings', { skip: noBrowser }, () => {
  const browser = useBrowser();

  async function open(t: TestContext, section: string, settings: object = {}) {
    const service = await startService({}, t);
    await service.ask('/api/settings', { method: 'PATCH', json: settings });
    const page = await browser.open(t, service.url);
    await enter(page, service, `/settings/${section}`);
    await page.locator('.section').first().waitFor();
    return { service, page };
  }

  const settingsOf = async (service: TestService) => (await service.ask('/api/settings')).body;
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  async function save(page: Page) {
    await button(page, 'Save').click();
    await page.getByText('Saved.', { exact: true }).waitFor();
  }

  it('have an input for every field that users can set', async (t) => {
    const { page } = await open(t, 'model');
    const found: string[] = [];
    const links = page.getByRole('navigation', { name: 'Sections' }).getByRole('link');
    for (const link of await links.all()) {
      await link.click();
      await page.getByRole('heading', { level: 2, name: await link.innerText(), exact: true }).waitFor();
      const inputs = await page.locator('[data-setting]').all();
      for (const input of inputs) {
        found.push(String(await input.getAttribute('data-setting')));
        assert.ok((await input.locator('input, select, textarea, button').count()) > 0);
      }
    }
    const fields = Object.keys(FullSettings.properties).filter((name) => !readOnlyFields.includes(name));
    assert.deepEqual(found.sort(), fields.sort());
  });

  it('show the save button only after a change, and save only that change', async (t) => {
    const { service, page } = await open(t, 'model', { max_iterations: 7 });
    const iterations = page.getByLabel('Max iterations');
    assert.equal(await iterations.inputValue(), '7');
    assert.equal(await button(page, 'Save').count(), 0);
    await page.getByLabel('Model', { exact: true }).fill('openai/gpt-5');
    await page.getByLabel('Max cost per conversation').fill('0,505');
    await page.getByLabel('Condense long conversations').click();
    await service.ask('/api/settings', { method: 'PATCH', json: { max_iterations: 9 } });
    await save(page);
    const { llm_model, max_budget_per_task, enable_default_condenser, max_iterations } =
      await settingsOf(service);
    assert.deepEqual(
      { llm_model, max_budget_per_task, enable_default_condenser, max_iterations },
      {
        llm_model: 'openai/gpt-5',
        max_budget_per_task: 0.505,
        enable_default_condenser: false,
        max_iterations: 9,
      },
    );
    assert.equal(await button(page, 'Save').count(), 0);
    await iterations.fill('');
    await save(page);
    assert.equal((await settingsOf(service)).max_iterations, null);
  });

  it('show that a section does not exist, and keep the navigation', async (t) => {
    const { page } = await open(t, 'nonsense');
    await page.getByText('This section of the settings does not exist.').waitFor();
    assert.match(page.url(), /\/settings\/nonsense$/);
    const links = page.getByRole('navigation', { name: 'Sections' }).getByRole('link');
    await links.first().click();
    await page.getByRole('heading', { level: 2, name: 'Model', exact: true }).waitFor();
  });

  it('suggest the models that the service lists, without those for existing clients', async (t) => {
    const { service, page } = await open(t, 'model');
    const { body } = await service.ask('/api/options/models');
    const models = body.filter((name: string) => !name.startsWith('openhands/'));
    assert.notEqual(models.length, body.length);
    const list = await page.getByLabel('Model', { exact: true }).getAttribute('list');
    await page.locator(`[id="${list}"] option`).first().waitFor({ state: 'attached' });
    assert.equal(await page.locator(`[id="${list}"] option`).count(), models.length);
  });

  it('show errors at the field, focus it, and keep the text over a reload', async (t) => {
    const { service, page } = await open(t, 'model');
    const baseUrl = page.getByLabel('Base URL');
    await baseUrl.fill('ftp://models.example.com');
    await page.getByLabel('Max iterations').fill('many');
    await button(page, 'Save').click();
    await page.getByText('must be an http or https URL with a host').waitFor();
    await page.getByText('must be a whole number or null').waitFor();
    assert.equal(await baseUrl.getAttribute('aria-invalid'), 'true');
    assert.equal(await page.evaluate('document.activeElement.type'), 'url');
    await baseUrl.fill('ftp://models.example.com/v1');
    await page.getByText('must be an http or https URL with a host').waitFor({ state: 'detached' });
    await page.getByText('must be a whole number or null').waitFor();
    await page.reload();
    assert.equal(await baseUrl.inputValue(), 'ftp://models.example.com/v1');
    await baseUrl.fill('https://models.example.com/v1');
    await page.getByLabel('Max iterations').fill('30');
    await save(page);
    const { llm_base_url, max_iterations } = await settingsOf(service);
    assert.deepEqual([llm_base_url, max_iterations], ['https://models.example.com/v1', 30]);
  });

  it('restore the stored values when the user clicks Discard', async (t) => {
    const { page } = await open(t, 'model', { llm_model: 'openai/gpt-5' });
    await page.getByLabel('Model', { exact: true }).fill('other/model');
    await button(page, 'Discard').click();
    assert.equal(await page.getByLabel('Model', { exact: true }).inputValue(), 'openai/gpt-5');
    assert.equal(await button(page, 'Save').count(), 0);
  });

  it('store, replace and remove a key, and never show it', async (t) => {
    const { service, page } = await open(t, 'model');
    await page.getByLabel('API key').fill('sk-first');
    assert.equal(await page.getByLabel('API key').getAttribute('type'), 'password');
    assert.doesNotMatch(await page.evaluate<string>('JSON.stringify(sessionStorage)'), /sk-first/);
    await save(page);
    await page.getByText('A value is stored.').waitFor();
    assert.doesNotMatch(await page.content(), /sk-first/);
    const ciphertext = () =>
      inspect(service.storage, "select sealed from secrets where kind = 'llm_api_key'");
    const before = await ciphertext();
    await button(page, 'Replace: API key').click();
    await page.keyboard.type('sk-second');
    await save(page);
    assert.notDeepEqual(await ciphertext(), before);
    await button(page, 'Remove: API key').click();
    await page.getByText('The stored value will be removed when you save.').waitFor();
    await page.keyboard.press('Enter');
    await button(page, 'Replace: API key').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('The stored value will be removed when you save.').waitFor();
    await save(page);
    assert.equal((await settingsOf(service)).llm_api_key_set, false);
  });

  it('remove a key even if the service does not report whether it is stored', async (t) => {
    const { service, page } = await open(t, 'general', { sandbox_api_key: 'sk-box' });
    const stored = () => inspect(service.storage, "select kind from secrets where kind = 'sandbox_api_key'");
    assert.equal((await stored()).length, 1);
    await button(page, 'Remove the stored value').click();
    await save(page);
    assert.equal((await stored()).length, 0);
    await page.getByLabel('Sandbox API key').fill('sk-other');
    await save(page);
    assert.equal((await stored()).length, 1);
  });

  it('set the agent, its approvals and its sandbox', async (t) => {
    const { service, page } = await open(t, 'agent', { security_analyzer: 'llm' });
    assert.equal(await page.getByLabel('Actions that need approval').inputValue(), 'llm');
    await page.getByLabel('Agent', { exact: true }).selectOption('codex');
    await page.getByLabel('Require approval').click();
    await page.getByLabel('Actions that need approval').selectOption('tool_kind');
    await page.getByLabel('Container image').fill('acme/box:1');
    await page.getByLabel('Resource factor').fill('4');
    await save(page);
    const settings = await settingsOf(service);
    assert.equal(settings.agent, 'codex');
    assert.equal(settings.confirmation_mode, true);
    assert.equal(settings.security_analyzer, 'tool_kind');
    assert.equal(settings.sandbox_runtime_container_image, 'acme/box:1');
    assert.equal(settings.remote_runtime_resource_factor, 4);
    await page.getByLabel('Agent', { exact: true }).selectOption('Built-in agent');
    await save(page);
    assert.equal((await settingsOf(service)).agent, null);
  });

  it('switch the web UI to German at once', async (t) => {
    const { service, page } = await open(t, 'general');
    await page.getByLabel('Language').selectOption('Deutsch');
    await page.getByLabel('Sound notifications').click();
    await page.getByLabel('Consent to analytics').selectOption('No');
    await button(page, 'Save').click();
    await page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
    await page.getByLabel('Sprache').waitFor();
    const { language, enable_sound_notifications, user_consents_to_analytics } = await settingsOf(service);
    assert.deepEqual([language, enable_sound_notifications, user_consents_to_analytics], ['de', true, false]);
  });

  it('ask before the user leaves unsaved changes by link, shortcut or browser button', async (t) => {
    const { service, page } = await open(t, 'agent');
    const dialog = page.getByRole('dialog', { name: 'Leave without saving?' });
    await page.getByRole('link', { name: 'Model', exact: true }).click();
    await page.getByLabel('Model', { exact: true }).fill('other/model');
    await page.getByRole('link', { name: 'API keys', exact: true }).click();
    await dialog.waitFor();
    await button(page, 'Stay').click();
    assert.match(page.url(), /settings\/model$/);
    assert.equal(await page.getByLabel('Model', { exact: true }).inputValue(), 'other/model');
    await page.evaluate('history.back()');
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    assert.match(page.url(), /settings\/model$/);
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('n');
    await dialog.waitFor();
    await button(page, 'Leave and discard').click();
    await page.waitForURL(`${service.url}/new`);
    await page.goBack();
    assert.equal(await page.getByLabel('Model', { exact: true }).inputValue(), '');
  });

  it('make the browser ask before a reload that loses a typed key', async (t) => {
    const { page } = await open(t, 'model');
    const dialogs: string[] = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.type());
      void dialog.accept();
    });
    await page.reload();
    assert.deepEqual(dialogs, []);
    await page.getByLabel('API key').pressSequentially('sk');
    await page.reload();
    assert.deepEqual(dialogs, ['beforeunload']);
  });

  it('keep text that is typed during a save', async (t) => {
    const { service, page } = await open(t, 'model');
    const answer = Promise.withResolvers<void>();
    await page.route('**/api/settings', async (route) => {
      await answer.promise;
      await route.continue();
    });
    await page.getByLabel('Model', { exact: true }).fill('openai/gpt-5');
    await page.getByLabel('API key').fill('sk-first');
    await button(page, 'Save').click();
    await button(page, 'Saving…').waitFor();
    await page.getByLabel('Max cost per conversation').fill('2');
    answer.resolve();
    await page.getByText('A value is stored.').waitFor();
    assert.equal(await page.getByLabel('Max cost per conversation').inputValue(), '2');
    await save(page);
    const { llm_model, max_budget_per_task } = await settingsOf(service);
    assert.deepEqual([llm_model, max_budget_per_task], ['openai/gpt-5', 2]);
  });

  it('keep text while the service cannot be reached', async (t) => {
    const { page } = await open(t, 'model');
    await page.route('**/api/settings', (route) => route.abort());
    await page.getByLabel('Model', { exact: true }).fill('openai/gpt-5');
    await button(page, 'Save').click();
    await page.getByText('Parley cannot be reached.').first().waitFor();
    await page.unroute('**/api/settings');
    await save(page);
  });
});
