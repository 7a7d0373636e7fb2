// Text and output appear on the page while they are written.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { noBrowser } from '../support/chromium.ts';
import { createStorage } from '../support/databases.ts';
import { filesOf, startRuns } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { enter, useBrowser } from './browser.ts';

/** Closer than this counts as the end. */
const endPx = 48;

async function start(t: TestContext) {
  const storage = await createStorage('sqlite');
  const runs = await startRuns({ storage }, t);
  t.after(() => storage.remove());
  const letGo = async (id: string, name: string) =>
    writeFileSync(join((await filesOf(storage, id)).home, name), '');
  return { ...runs, letGo };
}

describe('unfinished text', { skip: noBrowser }, () => {
  const browser = useBrowser();

  it('appears as it is written, and is the same element when it is finished', async (t) => {
    const { service, create, letGo } = await start(t);
    // Without a line break, nothing of it is logged before its end.
    const id = await create('ponder Hm|@think\nchunks It **wor|ks**|@more| for _one_|@end');
    const page = await browser.open(t, service.url);
    await enter(page, service, `/conversations/${id}`);
    const log = page.getByRole('log');
    await log.locator('.thought', { hasText: 'Hm' }).waitFor();
    await letGo(id, 'think');
    const message = log.locator('.message.unfinished');
    await message.locator('strong', { hasText: 'works' }).waitFor();
    await message.evaluate((element) => element.setAttribute('data-seen', 'yes'));
    await letGo(id, 'more');
    await message.locator('em', { hasText: 'one' }).waitFor();
    // Screen readers hear of finished turns only: the timeline is not live.
    assert.equal(
      await message.evaluate((element) => element.closest('[aria-live=polite],[role=status]')),
      null,
    );
    await letGo(id, 'end');
    await page.locator('.badge', { hasText: 'Waiting for input' }).waitFor();
    const finished = log.locator('.message:not(.from-user)');
    assert.equal(await finished.count(), 1);
    assert.equal(await finished.getAttribute('class'), 'message');
    assert.equal(await finished.getAttribute('data-seen'), 'yes');
    assert.equal(await log.locator('.thought').count(), 1);
  });

  it('is the output of a command, in its card', async (t) => {
    const { service, create, letGo } = await start(t);
    const id = await create('print first\\n|@more|second\\n|@end');
    const page = await browser.open(t, service.url);
    await enter(page, service, `/conversations/${id}`);
    const call = page.getByRole('log').locator('.call');
    await call.locator('.output', { hasText: 'first' }).waitFor();
    await letGo(id, 'more');
    await call.locator('.output', { hasText: 'second' }).waitFor();
    assert.equal(await call.locator('.spinner').count(), 1);
    const moving = () => page.evaluate<number>('document.getAnimations().length');
    await until('nothing moves, as the browser prefers', async () => (await moving()) === 0);
    await letGo(id, 'end');
    await call.locator('.outcome.good').waitFor();
    assert.equal(await call.count(), 1);
  });

  it('keeps the list at its end, unless the user has scrolled up', async (t) => {
    const { service, create, letGo } = await start(t);
    const lines = Array.from({ length: 80 }, (_, i) => `- line ${i}\\n`).join('');
    const id = await create(`chunks ${lines}|@more|${lines}last|@scrolled|${lines}|@end`);
    const page = await browser.open(t, service.url);
    await enter(page, service, `/conversations/${id}`);
    const log = page.getByRole('log');
    await letGo(id, 'more');
    await log.locator('li', { hasText: 'last' }).waitFor();
    const belowPx = () =>
      log.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight);
    const topPx = () => log.evaluate(({ scrollTop }) => scrollTop);
    await until('it is at its end', async () => (await topPx()) > 0 && (await belowPx()) < endPx);
    await log.focus();
    await page.keyboard.press('Home');
    await page.getByRole('button', { name: 'Jump to latest' }).waitFor();
    const before = await belowPx();
    await letGo(id, 'scrolled');
    await until('it grows', async () => (await belowPx()) > before);
    assert.equal(await topPx(), 0);
    await letGo(id, 'end');
    await page.locator('.badge', { hasText: 'Waiting for input' }).waitFor();
  });
});
