// The list of conversations in the sidebar: pages, search, marks, groups, and what the browser remembers. No worker runs, so
// that every conversation stays as it is.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser } from '../support/chromium.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { faultsOf } from './axe.ts';
import { enter, useBrowser } from './browser.ts';
import { useShared } from './sharedService.ts';

const count = 70;

describe('the sidebar', { skip: noBrowser }, () => {
  const browser = useBrowser();
  const shared = useShared(async (t) => {
    const service = await startService({}, t);
    for (let i = 0; i < count; i++)
      await service.ask('/api/conversations', {
        json: { conversation_id: `c${i}`, initial_user_msg: `Number ${i}` },
      });
    return service;
  });
  const change = (id: string, json: object) =>
    shared().ask(`/api/conversations/${id}`, { method: 'PATCH', json });
  const info = async (id: string) => (await shared().ask(`/api/conversations/${id}`)).body;
  const row = (page: Page, id: string) => page.locator(`.rows [data-conversation="${id}"]`);
  const group = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

  async function openMenu(page: Page, id: string, action: string): Promise<void> {
    await row(page, id).hover();
    await row(page, id).getByRole('button').click();
    await page.getByRole('button', { name: action, exact: true }).click();
  }

  it('loads more on scroll, and requests a failed page again only when the user clicks', async (t) => {
    const service = shared();
    const page = await browser.open(t, service.url);
    let requestCount = 0;
    await page.route('**/api/conversations?*page_id=*', (route) => {
      requestCount++;
      return route.fulfill({ status: 400, json: { error: 'Not now.', code: 'invalid' } });
    });
    await enter(page, service);
    await row(page, 'c25').scrollIntoViewIfNeeded();
    await row(page, 'c20').scrollIntoViewIfNeeded();
    await page.getByText('Not now.').waitFor({ state: 'attached' });
    await page.evaluate(
      'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
    );
    assert.equal(requestCount, 1);
    await page.unroute('**/api/conversations?*page_id=*');
    await page.getByRole('button', { name: 'Show more' }).click();
    await row(page, 'c0').waitFor({ state: 'attached' });
    assert.equal(await page.locator('.rows li').count(), count);
  });

  it('searches titles, keeps the search over a reload, and shows changes at once', async (t) => {
    const service = shared();
    const page = await browser.open(t, service.url);
    await enter(page, service);
    await row(page, 'c69').waitFor();
    await page.keyboard.press('Escape');
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('/');
    await page.keyboard.type('number 17');
    const only = page.locator('.rows li:only-child', { hasText: 'Number 17' });
    await only.getByRole('link').click();
    await page.getByRole('log').waitFor();
    await page.reload();
    await only.waitFor();
    await page.getByRole('searchbox').fill('');
    await row(page, 'c69').waitFor();
    await change('c17', { title: 'Number 17 by another name' });
    await page.getByRole('heading', { name: 'Number 17 by another name' }).waitFor();
    await row(page, 'c68').waitFor();
    await change('c68', { title: 'Sixty-eight' });
    await row(page, 'c68').getByText('Sixty-eight').waitFor();
    await service.ask('/api/conversations/c68/stop', { method: 'POST' });
    await row(page, 'c68').getByText('Stopped').waitFor({ state: 'attached' });
    await service.ask('/api/conversations', {
      json: { conversation_id: 'fresh', initial_user_msg: 'Fresh' },
    });
    await row(page, 'fresh').waitFor();
    await service.ask('/api/conversations/fresh', { method: 'DELETE' });
    await row(page, 'fresh').waitFor({ state: 'detached' });
  });

  it('need not have loaded a conversation for the palette to find it', async (t) => {
    const service = shared();
    const page = await browser.open(t, service.url);
    await enter(page, service);
    await row(page, 'c66').waitFor();
    assert.equal(await row(page, 'c7').count(), 0);
    await page.keyboard.press('ControlOrMeta+k');
    await page.getByRole('combobox', { name: 'Search and commands' }).fill('number 7');
    await page.getByRole('option', { name: 'Number 7', exact: true }).click();
    await page.waitForURL(`${service.url}/conversations/c7`);
    await page.getByRole('heading', { name: 'Number 7', exact: true }).waitFor();
  });

  it('pins, archives and marks as unread, from the menu and by key, also for other tabs', async (t) => {
    const service = shared();
    const page = await browser.open(t, service.url);
    await enter(page, service, '/conversations/c60');
    await page.getByRole('log').waitFor();
    const other = await page.context().newPage();
    await other.goto(`${service.url}/settings/about`);
    await row(other, 'c61').waitFor();
    // A tab in the background draws one frame per second, for which each click waits.
    await page.bringToFront();

    await openMenu(page, 'c61', 'Pin');
    await group(page, 'Pinned').getByText('Number 61').waitFor();
    await group(other, 'Pinned').getByText('Number 61').waitFor();
    await until('the pin is stored', async () => (await info('c61')).pinned);

    // Keys apply to the focused row, and otherwise to the open conversation.
    await row(page, 'c62').getByRole('link').focus();
    await page.keyboard.press('x');
    await row(page, 'c62').waitFor({ state: 'detached' });
    await row(other, 'c62').waitFor({ state: 'detached' });
    await page.getByRole('status').getByText('Archived: Number 62').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await row(page, 'c62').waitFor();
    await row(other, 'c62').waitFor();
    await until('it is read', async () => !(await info('c60')).unread);
    await page.locator('#content').focus();
    await page.keyboard.press('u');
    await until('it is unread', async () => (await info('c60')).unread);
    await row(page, 'c60').getByText('Unread').waitFor({ state: 'attached' });
    await page.keyboard.press('x');
    await row(page, 'c60').waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Filter and group' }).click();
    await page.getByRole('button', { name: 'Archived', exact: true }).click();
    await row(page, 'c60').waitFor();
    assert.equal(await page.locator('.rows li').count(), 1);
    await openMenu(page, 'c60', 'Restore from archive');
    await page.getByText('No archived conversations.').waitFor();
    await page.getByRole('button', { name: 'Archived', exact: true }).click();
    await row(page, 'c60').waitFor();
    await openMenu(page, 'c61', 'Unpin');
    await group(page, 'Pinned').waitFor({ state: 'detached' });
  });

  it('shows what cannot be stored, and shows the list as it is again', async (t) => {
    const service = shared();
    const page = await browser.open(t, service.url);
    await enter(page, service);
    await row(page, 'c63').waitFor();
    await page.route('**/api/conversations/c63', (route) =>
      route.fulfill({ status: 409, json: { error: 'Not today.', code: 'conflict' } }),
    );
    await openMenu(page, 'c63', 'Archive');
    await page.getByRole('status').getByText('Not today.').waitFor();
    await row(page, 'c63').waitFor();
  });

  it('renames and deletes, and can copy a link', async (t) => {
    const service = shared();
    await service.ask('/api/conversations', { json: { conversation_id: 'gone', initial_user_msg: 'Soon' } });
    const page = await browser.open(t, service.url, { permissions: ['clipboard-read', 'clipboard-write'] });
    await enter(page, service);
    await openMenu(page, 'gone', 'Rename');
    await page.getByLabel('Title', { exact: true }).fill('Soon gone');
    await page.keyboard.press('Enter');
    await row(page, 'gone').getByText('Soon gone').waitFor();
    await openMenu(page, 'gone', 'Copy link');
    await page.getByRole('status').getByText('The link was copied.').waitFor();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), `${service.url}/conversations/gone`);
    await openMenu(page, 'gone', 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row(page, 'gone').waitFor({ state: 'detached' });
    assert.equal(await info('gone'), null);
  });

  it('remembers the groups, the width, and that it is collapsed', async (t) => {
    const service = shared();
    await service.ask('/api/conversations', {
      json: { conversation_id: 'shop', initial_user_msg: 'Shop', repository: 'acme/shop' },
    });
    const page = await browser.open(t, service.url);
    await enter(page, service);
    await group(page, 'Today').getByText('Shop', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Filter and group' }).click();
    await page.getByRole('button', { name: 'Group by repository' }).click();
    await group(page, 'acme/shop').getByText('Shop', { exact: true }).waitFor();
    await group(page, 'No repository').waitFor();
    const edge = page.getByRole('separator', { name: 'Width of the sidebar' });
    const width = async () => (await page.locator('.sidebar').boundingBox())?.width;
    await edge.focus();
    await page.keyboard.press('ArrowRight');
    assert.equal(await width(), 304);
    const box = await edge.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + 4, 400);
    await page.mouse.down();
    await page.mouse.move(361, 400);
    await page.mouse.up();
    assert.equal(await width(), 361);
    await page.locator('#content').focus();
    await page.keyboard.press('b');
    await row(page, 'shop').waitFor({ state: 'hidden' });
    await page.reload();
    await page.getByRole('button', { name: 'Expand the sidebar' }).click();
    await group(page, 'acme/shop').getByText('Shop', { exact: true }).waitFor();
    assert.equal(await width(), 361);
  });

  it('is a screen of its own on a phone', async (t) => {
    const service = shared();
    const page = await browser.open(t, service.url, {
      viewport: { width: 360, height: 700 },
      hasTouch: true,
      isMobile: true,
    });
    await enter(page, service);
    await row(page, 'c66').waitFor();
    assert.equal(await page.getByLabel('Message to the agent').isVisible(), false);
    assert.deepEqual(await faultsOf(page, 'list on a phone'), []);
    await row(page, 'c66').getByRole('link').tap();
    await page.getByRole('log').waitFor();
    assert.equal(await page.locator('.sidebar').isVisible(), false);
    await page.getByRole('link', { name: 'Back to conversations' }).tap();
    await row(page, 'c66').waitFor();
    await row(page, 'c66').getByRole('button').tap();
    await page.getByRole('button', { name: 'Rename' }).waitFor();
    assert.deepEqual(await faultsOf(page, 'menu on a phone'), []);
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'New conversation' }).tap();
    await page.getByLabel('Message to the agent').waitFor();
    await page.getByRole('link', { name: 'Back to conversations' }).tap();
    await page.getByRole('link', { name: 'Settings' }).tap();
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Back to conversations' }).tap();
    await row(page, 'c66').waitFor();
  });
});
