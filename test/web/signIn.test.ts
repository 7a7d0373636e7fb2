// Signing in and out.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noBrowser } from '../support/chromium.ts';
import { startService } from '../support/service.ts';
import { enter, useBrowser } from './browser.ts';

describe('signing in', { skip: noBrowser }, () => {
  const browser = useBrowser();

  it('accepts the key of a link, and removes it from the URL', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    await enter(page, service);
    assert.equal(page.url(), `${service.url}/`);
    await page.getByText('No conversations yet').waitFor();
    assert.equal(await page.evaluate('history.length'), 2);
    assert.deepEqual(await page.context().cookies(), []);
    assert.equal(await page.evaluate('JSON.stringify(localStorage)'), '{"parley.language":"en"}');
    await page.reload();
    await page.getByText('No conversations yet').waitFor();
  });

  it('accepts a key from the form after it has rejected an invalid one', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    await page.goto(`${service.url}/settings/model`);
    const field = page.getByLabel('API key');
    const refused = page.getByText('This API key is invalid or has expired.');
    // The field has the focus, now and after each error.
    await field.waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('Paste an API key first.').waitFor();
    await page.keyboard.type('pk_0000000000000000_wrong');
    await page.keyboard.press('Enter');
    await refused.waitFor();
    await field.fill('');
    await field.press('Enter');
    await refused.waitFor({ state: 'detached' });
    await field.fill(`${service.key}…`);
    await field.press('Enter');
    await refused.waitFor();
    await field.fill(` ${service.key}\n`);
    await field.press('Enter');
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  });

  it('names the file of the owner key on the machine of the service', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    await page.goto(service.url);
    await page.getByText('stores it in data/owner.key').waitFor();
  });

  it('shows that the key of a link is invalid', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    await page.goto(`${service.url}/#key=pk_0000000000000000_wrong`);
    await page.getByText('This API key is invalid or has expired.').waitFor();
    assert.equal(page.url(), `${service.url}/`);
    assert.equal(await page.evaluate('sessionStorage.length'), 0);
  });

  it('ends when the key is revoked, and keeps the typed text', async (t) => {
    const service = await startService({}, t);
    const created = await service.ask('/api/keys', { json: { name: 'tab' } });
    const page = await browser.open(t, service.url);
    await enter(page, { url: service.url, key: created.body.key });
    await page.getByLabel('Message to the agent').fill('half a thought');
    await service.ask(`/api/keys/${created.body.id}`, { method: 'DELETE' });
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('This API key is invalid or has expired.').waitFor();
    await page.getByLabel('API key').fill(service.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    assert.equal(await page.getByLabel('Message to the agent').inputValue(), 'half a thought');
  });

  it('asks before the key of a link replaces another, and does not show drafts of the other user', async (t) => {
    const service = await startService({}, t);
    const other = await service.ask('/api/keys', { json: { name: 'other', user: 'bob' } });
    const page = await browser.open(t, service.url);
    const dialog = page.getByRole('dialog', { name: 'Sign in with a different API key?' });
    const box = page.getByLabel('Message to the agent');
    await enter(page, service);
    await box.fill('for my eyes');
    await page.evaluate(`location.hash = 'key=${other.body.key}'`);
    await dialog.getByText('You are signed in as owner with the key “owner”.').waitFor();
    await dialog.getByText('This link signs you in as bob with the key “other”.').waitFor();
    await dialog.getByRole('button', { name: 'Stay signed in' }).click();
    assert.equal(await box.inputValue(), 'for my eyes');
    assert.equal(await page.evaluate('sessionStorage["parley.key"]'), service.key);
    await page.evaluate(`location.hash = 'key=${other.body.key}'`);
    await dialog.getByRole('button', { name: 'Use the new key' }).click();
    await page.waitForFunction(`sessionStorage['parley.key'] === '${other.body.key}'`);
    assert.equal(await box.inputValue(), '');
  });

  it('asks in a new tab before the key of a link signs somebody else in', async (t) => {
    const service = await startService({}, t);
    const other = await service.ask('/api/keys', { json: { name: 'other', user: 'bob' } });
    const page = await browser.open(t, service.url);
    await enter(page, service);
    const tab = await page.context().newPage();
    const dialog = tab.getByRole('dialog', { name: 'Sign in with a different API key?' });
    const storedKey = () => tab.evaluate('sessionStorage["parley.key"]');
    await tab.goto(`${service.url}/#key=${other.body.key}`);
    await dialog.getByText('You are signed in as owner with the key “owner”.').waitFor();
    await dialog.getByText('This link signs you in as bob with the key “other”.').waitFor();
    assert.equal(await storedKey(), undefined);
    await dialog.getByRole('button', { name: 'Stay signed in' }).click();
    await tab.locator('.sidebar').getByText('owner', { exact: true }).waitFor();
    assert.equal(await storedKey(), service.key);
    const third = await page.context().newPage();
    await third.goto(`${service.url}/#key=${other.body.key}`);
    await third.getByRole('button', { name: 'Use the new key' }).click();
    await third.locator('.sidebar').getByText('bob', { exact: true }).waitFor();
    const fourth = await page.context().newPage();
    await fourth.goto(`${service.url}/#key=pk_0000000000000000_wrong`);
    await fourth.getByText('The API key in this link is invalid.').waitFor();
    assert.equal(await fourth.getByRole('button', { name: 'Use the new key' }).count(), 0);
    await fourth.getByRole('button', { name: 'Stay signed in' }).waitFor();
  });

  it('asks before sign-out deletes drafts, and forgets the key', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    const dialog = page.getByRole('dialog', { name: 'Sign out?' });
    await enter(page, service, '/settings/model');
    await page.getByLabel('Base URL').fill('https://model.example');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByLabel('Base URL').fill('');
    await page.getByRole('link', { name: 'New conversation' }).click();
    await page.getByLabel('Message to the agent').fill('a secret plan');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    assert.equal(await page.evaluate('JSON.stringify(sessionStorage)'), '{"parley.signedOut":"1"}');
    await page.reload();
    await page.getByLabel('API key').waitFor();
  });

  it('is shared with new tabs, and each tab signs out on its own', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    await enter(page, service);
    const other = await page.context().newPage();
    await other.goto(`${service.url}/settings/about`);
    await other.getByRole('button', { name: 'Sign out' }).first().click();
    await other.getByLabel('API key').waitFor();
    await other.reload();
    await page.reload();
    await page.getByText('No conversations yet').waitFor();
    const third = await page.context().newPage();
    await third.goto(service.url);
    await third.getByText('No conversations yet').waitFor();
    await other.getByLabel('API key').waitFor();
  });

  it('works in a browser without storage', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    await page.addInitScript(
      `for (const name of ['sessionStorage', 'localStorage']) Object.defineProperty(window, name, { get() { throw new DOMException('blocked', 'SecurityError'); } });`,
    );
    await enter(page, service);
    await page.getByText('No conversations yet').waitFor();
  });
});
