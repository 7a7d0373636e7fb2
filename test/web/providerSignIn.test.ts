// Signing in with an OpenID Connect provider.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser } from '../support/chromium.ts';
import { type Account, visit } from '../support/oidcProvider.ts';
import { startSignInService } from '../support/signIn.ts';
import { faultsOf } from './axe.ts';
import { enter, useBrowser } from './browser.ts';

const ada = { sub: 'a-1', preferred_username: 'ada' };
const bob = { sub: 'b-1', preferred_username: 'bob' };

const tokenOf = (page: Page) => page.evaluate<string | undefined>('sessionStorage["parley.key"]');

describe('signing in with a provider', { skip: noBrowser }, () => {
  const browser = useBrowser();

  /** `signIn` clicks the button and waits until the account is signed in. */
  async function start(t: TestContext, env: Record<string, string> = {}) {
    const setup = await startSignInService({ env }, t);
    const { service, provider } = setup;
    const page = await browser.open(t, [service.url, provider.issuer]);
    const button = page.getByRole('button', { name: 'Sign in with Example' });
    async function signIn(account: Account): Promise<void> {
      provider.account = account;
      await page.context().clearCookies();
      await button.click();
      await page
        .locator('.sidebar')
        .getByText(String(account['preferred_username']), { exact: true })
        .waitFor();
    }
    return { ...setup, page, button, signIn };
  }

  it('leaves the token in this tab alone, and ends the session on the server at sign-out', async (t) => {
    const { service, page, signIn } = await start(t);
    await page.goto(`${service.url}/settings/about`);
    await signIn(ada);
    assert.equal(page.url(), `${service.url}/settings/about`);
    const token = (await tokenOf(page)) ?? '';
    assert.match(token, /^ps_/);
    assert.equal(await page.evaluate('JSON.stringify(localStorage)'), '{"parley.language":"en"}');
    assert.equal(await page.evaluate('sessionStorage["parley.signIn"]'), undefined);
    const cookies = JSON.stringify(await page.context().cookies());
    assert.ok(!cookies.includes(token.slice(20)));
    await page.reload();
    await page.locator('.sidebar').getByText('ada', { exact: true }).waitFor();
    assert.equal((await service.ask('/api/me', { key: token })).status, 200);
    const ended = page.waitForResponse((response) => response.url().includes('/api/sessions/'));
    await page.getByRole('button', { name: 'Sign out' }).first().click();
    await ended;
    await page.getByLabel('API key').waitFor();
    assert.equal((await service.ask('/api/me', { key: token })).status, 401);
    assert.equal(await page.evaluate('JSON.stringify(sessionStorage)'), '{"parley.signedOut":"1"}');
    await page.goBack();
    assert.equal(await tokenOf(page), undefined);
  });

  it('says that it was cancelled, or that the account may not sign in', async (t) => {
    const { service, provider, page, button } = await start(t, {
      PARLEY_OIDC_CREATE_USERS: '0',
      PARLEY_OIDC_EMAIL_DOMAINS: '',
    });
    await page.goto(service.url);
    await button.click();
    await page.getByText('The sign-in was cancelled, or the provider refused it.').waitFor();
    assert.equal(page.url(), `${service.url}/`);
    provider.account = ada;
    await page.context().clearCookies();
    await button.click();
    await page.getByText('its subject is a-1.').waitFor();
    assert.equal(await tokenOf(page), undefined);
  });

  it('says that the provider is down, and an API key still works', async (t) => {
    const { service, provider, page, button } = await start(t);
    provider.isDown = true;
    await page.goto(service.url);
    await button.click();
    await page.getByText('The sign-in provider cannot be reached.').waitFor();
    assert.deepEqual(await faultsOf(page, 'sign-in'), []);
    await page.getByLabel('API key').fill(service.key);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.locator('.sidebar').getByText('owner', { exact: true }).waitFor();
  });

  it('does not sign anybody in with a link of somebody else', async (t) => {
    const { service, provider, page, begin, redirectUri } = await start(t);
    provider.account = bob;
    const attack = await begin();
    const link = `${redirectUri}?${await visit(attack.authorization_url, redirectUri)}`;
    await page.goto(link);
    await page.getByText('began in another tab').waitFor();
    assert.deepEqual([page.url(), await tokenOf(page)], [`${service.url}/`, undefined]);
    await enter(page, service);
    await page.goto(link);
    await page.locator('.sidebar').getByText('owner', { exact: true }).waitFor();
    assert.deepEqual([page.url(), await tokenOf(page)], [`${service.url}/`, service.key]);
  });

  it('shows that the session has ended, and keeps the typed text for the same user alone', async (t) => {
    const { service, page, signIn } = await start(t);
    const box = page.getByLabel('Message to the agent');
    const endSessions = () => service.ask('/api/users/ada/sessions', { method: 'DELETE' });
    const ended = page.getByText('Your session has ended. Sign in again.');
    /** The page may also notice it by itself, before or while the button is clicked. */
    async function startInVain(): Promise<void> {
      await endSessions();
      const button = page.getByRole('button', { name: 'Start', exact: true });
      while (!(await ended.isVisible())) await button.click({ timeout: 1_000 }).catch(() => {});
    }
    await page.goto(service.url);
    await signIn(ada);
    await box.fill('half a thought');
    await startInVain();
    await signIn(ada);
    assert.equal(await box.inputValue(), 'half a thought');
    await startInVain();
    await signIn(bob);
    assert.equal(await box.inputValue(), '');
  });

  it('lists sessions in the settings, ends one, and signs out everywhere', async (t) => {
    const { service, page, signIn, ...setup } = await start(t);
    await page.goto(service.url);
    await signIn(ada);
    setup.provider.account = ada;
    const begun = await setup.begin();
    const query = await visit(begun.authorization_url, setup.redirectUri);
    const other = (await setup.finish(begun, query)).body.token;
    await page.goto(`${service.url}/settings/keys`);
    const card = page.locator('.section', { hasText: 'Browsers in which you are signed in' });
    await card.getByRole('listitem').nth(1).waitFor();
    assert.deepEqual(await faultsOf(page, 'sessions'), []);
    await card
      .getByRole('listitem')
      .filter({ hasNotText: 'Current' })
      .getByRole('button', { name: 'Sign out' })
      .click();
    await card.getByRole('listitem').nth(1).waitFor({ state: 'detached' });
    assert.equal((await service.ask('/api/me', { key: other })).status, 401);
    const token = (await tokenOf(page)) ?? '';
    await card.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByLabel('API key').waitFor();
    assert.equal((await service.ask('/api/me', { key: token })).status, 401);
  });
});
