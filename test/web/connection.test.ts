// The web UI while the service cannot be reached: it shows that, and loses no text.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noBrowser } from '../support/chromium.ts';
import { startCutProxy } from '../support/cutProxy.ts';
import { startRuns } from '../support/runs.ts';
import { startService } from '../support/service.ts';
import { enter, useBrowser } from './browser.ts';

const lost = 'The connection to Parley was lost. Reconnecting…';

describe('the connection of the web UI', { skip: noBrowser }, () => {
  const browser = useBrowser();
  const keepingBrowser = useBrowser({ keepsPages: true });

  it('is restored after a loss, and each event is shown once', async (t) => {
    const runs = await startRuns({}, t);
    const proxy = await startCutProxy(runs.service.url, t);
    const id = await runs.create('run echo line 0');
    await runs.turns(id, 1);
    const page = await browser.open(t, proxy.url);
    await enter(page, { url: proxy.url, key: runs.service.key }, `/conversations/${id}`);
    const log = page.getByRole('log');
    await log.getByText('line 0', { exact: true }).waitFor();

    proxy.refuse(true);
    proxy.cut();
    await page.getByText(lost).waitFor();
    await page.getByLabel('Message', { exact: true }).fill('run echo line 2');
    await page.getByLabel('Message', { exact: true }).press('Control+Enter');
    await page.getByText('Parley cannot be reached. Your input has been kept.').waitFor();
    await runs.say(id, 'run echo line 1');
    await runs.turns(id, 2);

    proxy.refuse(false);
    await page.getByText('Reconnected.').waitFor();
    await log.getByText('line 1', { exact: true }).waitFor();
    // The error is gone, and the typed text is still there.
    await page.getByText('Parley cannot be reached.').waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), 'run echo line 2');
    await page.getByLabel('Message', { exact: true }).press('Control+Enter');
    await log.getByText('line 2', { exact: true }).waitFor();
    await page.getByText('Reconnected.').waitFor({ state: 'detached' });
    for (const text of ['line 0', 'line 1', 'line 2'])
      assert.equal(await log.getByText(text, { exact: true }).count(), 1, text);
  });

  it('is closed when the user leaves the page, so that the next page can connect, and opened again when they return', async (t) => {
    const runs = await startRuns({}, t);
    const id = await runs.create('say hello');
    await runs.turns(id, 1);
    const { url } = runs.service;
    const page = await keepingBrowser.open(t, url);
    await enter(page, runs.service, `/conversations/${id}`);
    const log = page.getByRole('log');
    await log.getByText('hello', { exact: true }).waitFor();
    // Browsers open at most six connections to a host, and keep a few earlier pages alive.
    for (let round = 0; round < 8; round++) {
      await page.goto(`${url}/?round=${round}`);
      await page.getByRole('link', { name: 'say hello' }).waitFor();
      await page.goto(`${url}/conversations/${id}`);
      await log.getByText('hello', { exact: true }).waitFor();
    }
    await page.goto(`${url}/settings/model`);
    await page.getByRole('heading', { name: 'Model', exact: true }).waitFor();
    await page.goBack({ waitUntil: 'commit' });
    await log.getByText('hello', { exact: true }).waitFor();
    await runs.say(id, 'say and again');
    await log.getByText('and again', { exact: true }).waitFor();
  });

  it('can be lost on the home screen without losing text, and the list catches up', async (t) => {
    const service = await startService({}, t);
    const proxy = await startCutProxy(service.url, t);
    const page = await browser.open(t, proxy.url);
    await enter(page, { url: proxy.url, key: service.key });
    await page.getByText('No conversations yet').waitFor();
    proxy.refuse(true);
    proxy.cut();
    await page.getByText(lost).waitFor();
    await page.getByLabel('Message to the agent').fill('Typed while offline');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('Parley cannot be reached. Your input has been kept.').waitFor();
    await service.ask('/api/conversations', { json: { initial_user_msg: 'Created meanwhile' } });
    proxy.refuse(false);
    await page.getByText('Created meanwhile').waitFor();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('log').getByText('Typed while offline').waitFor();
    const { body } = await service.ask('/api/conversations');
    assert.equal(body.results.length, 2);
  });

  it('shows that the device is offline', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    await enter(page, service);
    await page.getByText('No conversations yet').waitFor();
    await page.context().setOffline(true);
    await page.getByText('This device is offline. Reconnecting…').waitFor();
    await page.context().setOffline(false);
    await page.getByText('Reconnected.').waitFor();
  });
});
