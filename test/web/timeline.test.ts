// What the timeline shows of an agent's work. All tests share one service.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '../support/chromium.ts';
import { type Runs, startRuns } from '../support/runs.ts';
import { enter, useBrowser } from './browser.ts';

const code = 'const html: string = "<b>bold</b>"; // <img src=x onerror=alert(1)>';

describe('the timeline', { skip: noBrowser }, () => {
  const browser = useBrowser();
  const cleanups: (() => Promise<void>)[] = [];
  let runs: Runs;
  before(async () => {
    runs = await startRuns({}, { after: (fn) => cleanups.push(fn) });
  });
  after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  /** A conversation whose first turn has ended. */
  async function finished(...lines: readonly string[]): Promise<string> {
    const id = await runs.create(lines.join('\n'));
    await runs.turns(id, 1);
    return id;
  }

  it('highlights code, in which nothing becomes HTML', async (t) => {
    const id = await finished(`chunks Look:\\n\\n\`\`\`ts\\n${code}\\n\`\`\`\\n`);
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, `/conversations/${id}`);
    const block = page.getByRole('log').locator('.code-block');
    await block.locator('.code-keyword', { hasText: 'const' }).waitFor();
    assert.equal(await block.locator('.code-string').textContent(), '"<b>bold</b>"');
    assert.equal((await block.locator('pre').textContent())?.trim(), code);
    assert.equal(await block.locator('b, img').count(), 0);
  });

  it('shows code without colours if the highlighter is gone, as after an upgrade', async (t) => {
    const id = await finished(`chunks \`\`\`ts\\n${code}\\n\`\`\`\\n`);
    const page = await browser.open(t, runs.service.url);
    await page.route('**/assets/tokenize-*.js', (route) => route.fulfill({ status: 404, body: '{}' }));
    const warned = page.waitForEvent('console', (message) => message.text().includes('without colours'));
    await enter(page, runs.service, `/conversations/${id}`);
    await warned;
    const block = page.getByRole('log').locator('.code-block');
    assert.equal((await block.locator('pre').textContent())?.trim(), code);
    assert.equal(await block.locator('[class^=code-]').count(), 0);
  });
});
