// Several conversations at once: live states in the sidebar, two side by side, and the palette. All tests share one service.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser } from '../support/chromium.ts';
import { startRuns } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { faultsOf } from './axe.ts';
import { enter, useBrowser } from './browser.ts';
import { useShared } from './sharedService.ts';

const url = (...[first, beside]: readonly string[]) =>
  `/conversations/${first}${beside === undefined ? '' : `?beside=${beside}`}`;

describe('several conversations', { skip: noBrowser }, () => {
  const browser = useBrowser();
  const shared = useShared((t) => startRuns({}, t));
  const row = (page: Page, id: string) => page.locator(`.rows [data-conversation="${id}"]`);
  const info = async (id: string) => (await shared().service.ask(`/api/conversations/${id}`)).body;
  const blur = (page: Page) => page.evaluate('document.activeElement.blur()');
  /** Whether the URL is that of these conversations. */
  const shows = (page: Page, ...ids: readonly string[]) =>
    page.waitForURL(`${shared().service.url}${url(...ids)}`);

  /** Conversations whose first turn has ended, the newest last. */
  async function finished(...messages: readonly string[]): Promise<string[]> {
    const ids: string[] = [];
    for (const message of messages) {
      const id = await shared().create(`say ${message}`);
      await shared().turns(id, 1);
      ids.push(id);
    }
    return ids;
  }

  async function openMenu(page: Page, id: string, action: string): Promise<void> {
    await row(page, id).hover();
    await row(page, id).getByRole('button').click();
    await page.getByRole('button', { name: action, exact: true }).click();
  }

  it('have live states, are read when they are opened, and can be reached by key', async (t) => {
    const runs = shared();
    const [read = ''] = await finished('hello');
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service);
    await row(page, read).getByText('Unread').waitFor({ state: 'attached' });
    await row(page, read).getByRole('link').click();
    await page.getByRole('log').getByText('hello', { exact: true }).waitFor();
    await row(page, read).getByText('Unread').waitFor({ state: 'detached' });
    await until('it is read', async () => !(await info(read)).unread);
    await runs.say(read, 'say more');
    await page.getByRole('log').getByText('more', { exact: true }).waitFor();
    await until(
      'all of it is read',
      async () => (await info(read)).seen_event_id === (await info(read)).last_event_id,
    );

    const busy = await runs.create('hang');
    await row(page, busy).getByText('Running').waitFor({ state: 'attached' });
    await runs.cancel(busy);
    await row(page, busy).getByText('Waiting for input').waitFor({ state: 'attached' });
    await row(page, busy).getByText('Unread').waitFor({ state: 'attached' });
    const failed = await runs.create('say x', { agent: 'absent' });
    await row(page, failed).getByText('Failed').waitFor();
    const asking = await runs.create('ask execute something', { confirmation_mode: true });
    await row(page, asking).getByText('Needs approval').waitFor();

    await blur(page);
    await page.keyboard.press('w');
    await shows(page, asking);
    await page.keyboard.press('j');
    await shows(page, failed);
    await page.keyboard.press('j');
    await shows(page, busy);
    await page.keyboard.press('k');
    await shows(page, failed);
    await runs.stop(asking);
  });

  it('share one stream of changes between tabs, which another tab reads when the first one is closed', async (t) => {
    const runs = shared();
    const { service } = runs;
    const first = await browser.open(t, service.url);
    await enter(first, service);
    const [id = ''] = await finished('together');
    await row(first, id).waitFor();
    const second = await first.context().newPage();
    let streams = 0;
    second.on('request', (request) => {
      if (new URL(request.url()).pathname === '/api/events/stream') streams++;
    });
    await second.goto(`${service.url}${url(id)}`);
    await row(second, id).waitFor();
    const change = (title: string) =>
      service.ask(`/api/conversations/${id}`, { method: 'PATCH', json: { title } });
    await change('For both');
    await row(first, id).getByText('For both').waitFor();
    await row(second, id).getByText('For both').waitFor();
    assert.equal(streams, 0);
    await first.close();
    await until('the second tab reads the stream', () => streams === 1);
    await change('For the second');
    await row(second, id).getByText('For the second').waitFor();
  });

  it('can be side by side, each with its own stream, and the keys apply to the active one', async (t) => {
    const runs = shared();
    const [left = '', right = '', third = ''] = await finished('to the left', 'to the right', 'a third');
    const page = await browser.open(t, runs.service.url, { viewport: { width: 1440, height: 860 } });
    await enter(page, runs.service, url(left));
    await openMenu(page, right, 'Open side by side');
    await shows(page, left, right);
    await page.reload();
    const [one, two] = [page.locator('.pane').nth(0), page.locator('.pane').nth(1)];
    await one.getByRole('log').getByText('to the left', { exact: true }).waitFor();
    await two.getByRole('log').getByText('to the right', { exact: true }).waitFor();

    await two.getByRole('log').click();
    await page.locator('.pane.active').and(two).waitFor();
    await blur(page);
    await page.keyboard.press('m');
    await page.keyboard.type('say only here');
    await page.keyboard.press('Control+Enter');
    await two.getByRole('log').getByText('only here', { exact: true }).waitFor();
    await runs.say(left, 'say meanwhile');
    await one.getByRole('log').getByText('meanwhile', { exact: true }).waitFor();
    assert.equal(await one.getByText('only here', { exact: true }).count(), 0);

    await blur(page);
    await page.keyboard.press('o');
    await page.locator('.pane.active').and(one).waitFor();
    const name = { name: 'Details' };
    await page.keyboard.press('d');
    await one.getByRole('complementary', name).waitFor();
    assert.equal(await two.getByRole('complementary', name).count(), 0);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await faultsOf(page, `split, ${colorScheme}`), []);
    }

    // Where there is space for one only, a button leads to the other.
    await page.setViewportSize({ width: 900, height: 800 });
    await two.waitFor({ state: 'hidden' });
    await one.getByRole('button', { name: 'Go to the other open conversation' }).click();
    await one.waitFor({ state: 'hidden' });
    await two.getByRole('button', { name: 'Go to the other open conversation' }).click();
    await page.setViewportSize({ width: 1440, height: 860 });

    await row(page, third).getByRole('link').click();
    await shows(page, third, right);
    await row(page, right).getByRole('link').click();
    await page.locator('.pane.active').and(two).waitFor();
    await two.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await shows(page, third);
    await page.getByRole('log').getByText('a third', { exact: true }).waitFor();
    assert.equal(await page.locator('.pane').count(), 1);
  });

  it('and all commands are in the palette', async (t) => {
    const runs = shared();
    const [here = '', quokka = ''] = await finished('in the palette', 'the wombat sleeps');
    const { service } = runs;
    await service.ask(`/api/conversations/${quokka}`, { method: 'PATCH', json: { title: 'Quokka' } });
    await until('what was said is found', async () => {
      const { body } = await service.ask('/api/search?q=wombat');
      return body.results.length > 0;
    });
    const page = await browser.open(t, service.url);
    await enter(page, service, url(here));
    await page.getByRole('log').getByText('in the palette', { exact: true }).waitFor();
    const palette = page.getByRole('dialog', { name: 'Search and commands' });
    const selected = palette.getByRole('option', { selected: true });
    const search = async (text: string) => {
      await page.keyboard.press('Control+k');
      await palette.getByRole('combobox').fill(text);
    };
    // It opens while the user is typing, too.
    await page.getByLabel('Message', { exact: true }).fill('unsent');
    await search('womba');
    await selected.getByText('wombat').waitFor();
    assert.deepEqual(await faultsOf(page, 'palette'), []);
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.deepEqual(await faultsOf(page, 'palette, dark'), []);
    await page.keyboard.press('Escape');
    await page.getByLabel('Message', { exact: true }).and(page.locator(':focus')).waitFor();

    // What was found in a message leads to that message.
    await page.getByRole('searchbox').fill('womb');
    await page.getByRole('link', { name: 'wombat' }).click();
    await page.waitForURL(new RegExp(`/conversations/${quokka}#event-\\d+$`));
    await page.getByRole('log').getByText('the wombat sleeps', { exact: true }).waitFor();
    await page.getByRole('searchbox').fill('');
    await row(page, here).getByRole('link').click();
    await shows(page, here);

    await search('quokka');
    await selected.getByText('Quokka').waitFor();
    await page.keyboard.press('Control+Enter');
    await shows(page, here, quokka);
    await search('close');
    await selected.getByText('Close this side').waitFor();
    await page.keyboard.press('Enter');
    await shows(page, here);

    await search('ren');
    await selected.getByText('Rename').waitFor();
    await page.keyboard.press('Enter');
    await page.getByLabel('Title', { exact: true }).fill('By the palette');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'By the palette' }).waitFor();
    await search('stop');
    await selected.getByText('Stop', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.badge').getByText('Stopped').waitFor();
    await search('');
    await selected.getByText('Resume').waitFor();
    await page.keyboard.press('ArrowDown');
    await selected.getByText('Rename').waitFor();
    await page.keyboard.press('Escape');

    await search('zzzz nothing');
    await palette.getByText('Nothing found.').waitFor();
    await page.keyboard.press('Escape');
    await search('theme dark');
    await page.keyboard.press('Enter');
    await page.locator('html[data-theme=dark]').waitFor();
    await search('settings secrets');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/settings/secrets');
    await search('deutsch');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Einstellungen', level: 1 }).waitFor();
  });
});
