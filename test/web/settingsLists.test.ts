// The sections of the settings that have lists (Git, secrets, API keys, webhooks), and the About section.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser } from '../support/chromium.ts';
import { inspect } from '../support/inspect.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { enter, useBrowser } from './browser.ts';

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

describe('a section of the settings', { skip: noBrowser }, () => {
  const browser = useBrowser();

  async function open(t: TestContext, section: string) {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url, { permissions: ['clipboard-read', 'clipboard-write'] });
    await enter(page, service, `/settings/${section}`);
    await page.locator('.section').first().waitFor();
    const settings = async () => (await service.ask('/api/settings')).body;
    return { service, page, settings };
  }

  it('says that the API key of the operator is used, until the user has one', async (t) => {
    const { service, page } = await open(t, 'model');
    const json = { llm_model: 'xai/grok-4', llm_api_key: 'sk-canary-of-the-operator' };
    await service.ask('/api/defaults', { method: 'PATCH', json });
    await page.reload();
    const note = page.getByText('Not set: the API key of the operator of this service is used.');
    await note.waitFor();
    assert.ok(!(await page.content()).includes('sk-canary'));
    await service.ask('/api/settings', { json: { llm_api_key: 'sk-own' } });
    await page.reload();
    await page.locator('.section').first().waitFor();
    await note.waitFor({ state: 'detached' });
  });

  it('stores, replaces and removes API keys of model providers, and never shows one', async (t) => {
    const { service, page } = await open(t, 'model');
    const isSet = async () => (await service.ask('/api/provider-keys/xai')).body.is_set;
    await button(page, 'Add: xai').click();
    await button(page, 'Save key').click();
    await page.getByText('Paste an API key.').waitFor();
    const key = page.locator('.entry-form').getByLabel('API key', { exact: true });
    await key.fill('sk with spaces');
    await button(page, 'Save key').click();
    await page.getByText('must consist of printable ASCII characters without spaces').waitFor();
    await key.fill('sk-canary-of-the-page');
    await button(page, 'Save key').click();
    await page.getByText('A key is stored.').waitFor();
    assert.equal(await isSet(), true);
    await service.ask('/api/settings', { json: { llm_model: 'xai/grok-4' } });
    await page.reload();
    await page.getByText('Not set: the API key of xai below is used.').waitFor();
    await button(page, 'Replace: xai').click();
    assert.equal(await key.inputValue(), '');
    await key.fill('sk-another');
    await button(page, 'Save key').click();
    await key.waitFor({ state: 'detached' });
    await button(page, 'Remove: xai').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await button(page, 'Add: xai').waitFor();
    assert.equal(await isSet(), false);
    assert.doesNotMatch(service.logs(), /canary/);
  });

  it('stores and replaces access tokens of git providers, and removes one or all', async (t) => {
    const { service, page, settings } = await open(t, 'git');
    await button(page, 'Add: GitLab').click();
    await button(page, 'Save token').click();
    await page.getByText('Paste an access token.').waitFor();
    await page.getByLabel('Access token', { exact: true }).fill('glpat-1');
    await page.getByLabel('Host').fill('not a host');
    await button(page, 'Save token').click();
    await page.getByText('must be a host name').waitFor();
    await page.getByLabel('Host').fill('git.example.com');
    await button(page, 'Save token').click();
    await page.getByText('A token for git.example.com is stored.').waitFor();
    assert.deepEqual((await settings()).provider_tokens_set, { gitlab: 'git.example.com' });
    const ciphertext = () =>
      inspect(service.storage, "select sealed from secrets where kind = 'provider_token'");
    const before = await ciphertext();

    await button(page, 'Replace: GitLab').click();
    assert.equal(await page.getByLabel('Access token', { exact: true }).inputValue(), '');
    await page.getByLabel('Host').fill('');
    await button(page, 'Save token').click();
    await page.getByText('A token is stored.').waitFor();
    assert.deepEqual(await ciphertext(), before);

    const provider_tokens = { github: { token: 't' }, bitbucket: { token: 't' } };
    await service.ask('/api/add-git-providers', { json: { provider_tokens } });
    await page.reload();
    await button(page, 'Remove: GitLab').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual((await settings()).provider_tokens_set, { bitbucket: null, github: null });

    await button(page, 'Remove all tokens').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove all tokens' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual((await settings()).provider_tokens_set, {});
  });

  it('stores the author of commits', async (t) => {
    const { page, settings } = await open(t, 'git');
    await page.getByLabel('Git user name').fill('Ada');
    await page.getByLabel('Git user email').fill('ada@example.com');
    await button(page, 'Save').click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    const { git_user_name, git_user_email } = await settings();
    assert.deepEqual([git_user_name, git_user_email], ['Ada', 'ada@example.com']);
  });

  it('adds, describes, renames, replaces and removes a secret, and never shows it', async (t) => {
    const { service, page, settings } = await open(t, 'secrets');
    const stored = async () => (await settings()).secrets_store.custom_secrets;
    const ciphertext = () => inspect(service.storage, "select sealed from secrets where kind = 'custom'");
    await page.getByText('No secrets yet.').waitFor();
    await button(page, 'Add secret').click();
    await page.getByLabel('Name').fill('1 bad');
    await page.getByLabel('Value').fill('first\nline');
    await button(page, 'Save secret').click();
    await page.getByText('must consist of letters').waitFor();
    await page.getByLabel('Name').fill('NPM_TOKEN');
    assert.doesNotMatch(await page.evaluate<string>('JSON.stringify(sessionStorage)'), /first/);
    await button(page, 'Save secret').click();
    await button(page, 'Edit: NPM_TOKEN').waitFor();
    assert.deepEqual(await stored(), { NPM_TOKEN: { description: null } });
    const first = await ciphertext();

    await button(page, 'Edit: NPM_TOKEN').click();
    await page.getByLabel('Description').fill('for publishing');
    await button(page, 'Save secret').click();
    await page.getByText('for publishing').waitFor();
    assert.deepEqual(await ciphertext(), first);

    await button(page, 'Edit: NPM_TOKEN').click();
    await page.getByLabel('Name').fill('NPM_KEY');
    await page.getByLabel('Value').fill('second');
    await button(page, 'Save secret').click();
    await button(page, 'Edit: NPM_KEY').waitFor();
    await page.getByLabel('Name').waitFor({ state: 'detached' });
    assert.deepEqual(await stored(), { NPM_KEY: { description: 'for publishing' } });
    assert.notDeepEqual(await ciphertext(), first);

    await button(page, 'Remove: NPM_KEY').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('No secrets yet.').waitFor();
    assert.deepEqual(await stored(), {});
  });

  it('keeps the old value of a secret if the new one is rejected', async (t) => {
    const { service, page, settings } = await open(t, 'secrets');
    await service.ask('/api/secrets', { json: { name: 'CERT', value: 'old' } });
    await page.reload();
    await button(page, 'Edit: CERT').click();
    await page.getByLabel('Value').fill('x'.repeat(70_000));
    await button(page, 'Save secret').click();
    await page.getByText('must be at most').waitFor();
    assert.deepEqual(Object.keys((await settings()).secrets_store.custom_secrets), ['CERT']);
  });

  it('keeps an open form over a reload, except its secret', async (t) => {
    const { page } = await open(t, 'secrets');
    await button(page, 'Add secret').click();
    await page.getByLabel('Name').fill('NPM_TOKEN');
    await page.getByLabel('Value').fill('hidden');
    await page.reload();
    assert.equal(await page.getByLabel('Name').inputValue(), 'NPM_TOKEN');
    assert.equal(await page.getByLabel('Value').inputValue(), '');
  });

  it('creates a key, shows it once, and revokes it', async (t) => {
    const { service, page } = await open(t, 'keys');
    await page.getByText('Current').waitFor();
    await button(page, 'Create API key').click();
    await button(page, 'Create').click();
    await page.getByText('must not be empty').waitFor();
    await page.getByLabel('Name').fill('laptop');
    await page.getByLabel('Manage webhooks').uncheck();
    await page.getByLabel('Expires').selectOption('In 30 days');
    await button(page, 'Create').click();
    const shown = page.getByLabel('The API key “laptop” was created.');
    const key = await shown.inputValue();
    await button(page, 'Copy').click();
    await button(page, 'Copied').waitFor();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), key);
    assert.equal((await service.ask('/api/settings', { key })).status, 200);
    assert.equal((await service.ask('/api/webhooks', { key })).status, 403);

    await page.getByRole('link', { name: 'Model', exact: true }).click();
    await page.getByText('will not be shown again. Copy it first').waitFor();
    await button(page, 'Stay').click();
    await button(page, 'I have saved it').click();
    assert.doesNotMatch(await page.content(), new RegExp(key));

    await button(page, 'Revoke: laptop').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('Revoked and expired (1)').waitFor();
    assert.equal((await service.ask('/api/settings', { key })).status, 401);
  });

  it('creates a token that expires on a chosen day', async (t) => {
    const { service, page } = await open(t, 'keys');
    await button(page, 'Create API key').click();
    await page.getByLabel('Name').fill('board');
    await page.getByLabel('Type').selectOption('Bearer token');
    await page.getByLabel('Expires').selectOption('On a custom date');
    await button(page, 'Create').click();
    await page.getByText('Choose a date.').waitFor();
    await page.getByLabel('Last day').fill('2001-01-31');
    await button(page, 'Create').click();
    await page.getByText('must be in the future').waitFor();
    await page.getByLabel('Last day').fill('2099-01-31');
    await button(page, 'Create').click();
    await page.getByLabel('The API key “board” was created.').waitFor();
    const { keys } = (await service.ask('/api/keys')).body;
    const { kind, expires_at } = keys.find(({ name }: { name: string }) => name === 'board');
    assert.equal(kind, 'bearer');
    assert.equal(new Date(expires_at).getTime(), new Date('2099-01-31T23:59:59').getTime());
  });

  it('signs out when the key of the tab is revoked', async (t) => {
    const { page } = await open(t, 'keys');
    await button(page, 'Revoke: owner').click();
    await page.getByText('will be signed out').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('This API key is invalid or has expired.').waitFor();
  });

  it('creates a webhook, shows its secret once, redelivers failed deliveries, and removes it', async (t) => {
    const { service, page } = await open(t, 'webhooks');
    const receiver = await startReceiver(t);
    receiver.answer(() => 410);
    const list = async () => (await service.ask('/api/webhooks')).body.webhooks;
    await page.getByText('No webhooks yet.').waitFor();
    await button(page, 'Add webhook').click();
    await page.getByLabel('URL').fill('bot.example.com');
    await page.getByLabel('Status changes').uncheck();
    await button(page, 'Create').click();
    await page.getByText('must be an http or https URL with a host').waitFor();
    await page.getByText('must not have fewer than 1 items').waitFor();
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByLabel('Status changes').check();
    await page.getByLabel('Description').fill('chat bot');
    await button(page, 'Create').click();
    assert.match(await page.getByLabel('Use this signing secret').inputValue(), /^whsec_/);
    await button(page, 'I have saved it').click();

    for (let i = 0; i < 2; i++) await service.ask('/api/conversations', { json: {} });
    await until('both deliveries have failed', async () => (await list())[0]?.failed === 2);
    await page.reload();
    await page.getByText('2 failed').waitFor();
    await button(page, `Deliveries: ${receiver.url}`).click();
    await page.getByText('HTTP 410').first().waitFor();
    receiver.answer(() => 204);
    await page
      .getByRole('button', { name: /^Redeliver/ })
      .first()
      .click();
    await page.getByText('1 delivery was queued again.').waitFor();
    await until('the delivery arrives', async () => (await list())[0]?.failed === 1);
    await button(page, 'Redeliver all failed').click();
    await until('the other delivery arrives', async () => (await list())[0]?.failed === 0);
    assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 2);

    await button(page, `Remove: ${receiver.url}`).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('No webhooks yet.').waitFor();
    assert.deepEqual(await list(), []);
  });

  it('creates a webhook for a chat service, whose URL and secret are not shown', async (t) => {
    const { service, page } = await open(t, 'webhooks');
    const receiver = await startReceiver(t);
    await button(page, 'Add webhook').click();
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByLabel('Every conversation event').check();
    await page.getByLabel('Format').selectOption({ label: 'Mattermost' });
    assert.equal(await page.getByLabel('Every conversation event').count(), 0);
    await page.getByLabel('Waiting for your approval or answer').check();
    await button(page, 'Create').click();
    await button(page, `Remove: ${new URL(receiver.url).origin}/**********`).waitFor();
    assert.equal(await page.getByLabel('Use this signing secret').count(), 0);
    const [stored] = (await service.ask('/api/webhooks')).body.webhooks;
    assert.deepEqual(
      [stored.format, stored.events],
      ['mattermost', ['conversation.status', 'conversation.waiting']],
    );
    await service.ask('/api/conversations', { json: { initial_user_msg: 'hello' } });
    await until('it is told', () => receiver.received[0]?.body.text === '**Starting: hello**');
  });

  it('shows an error if the key of the tab lacks a scope', async (t) => {
    const { service, page } = await open(t, 'model');
    const { key } = (await service.ask('/api/keys', { json: { name: 'reader', scopes: ['settings:read'] } }))
      .body;
    await enter(page, { url: service.url, key }, '/settings/webhooks');
    await page.getByRole('button', { name: 'Use the new key' }).click();
    await page.getByRole('alert').getByText('webhooks:manage').waitFor();
  });

  it('shows facts about the service, and signs out', async (t) => {
    const { service, page } = await open(t, 'model');
    await page.getByRole('link', { name: 'About', exact: true }).click();
    const info = (await service.ask('/server_info')).body;
    await page.getByText(info.version, { exact: true }).waitFor();
    const reference = await page.getByRole('link', { name: 'API docs' }).getAttribute('href');
    assert.equal((await service.ask(String(reference))).status, 200);
    await page.getByRole('main').getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
  });
});
