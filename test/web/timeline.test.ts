// What the timeline shows of an agent's work. All tests share one service.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '../support/chromium.ts';
import { type Runs, startRuns } from '../support/runs.ts';
import { until } from '../support/until.ts';
import { faultsOf } from './axe.ts';
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

  it('folds finished tool calls, keeps the last one visible, and links to each event', async (t) => {
    const id = await finished(
      'really-run printf "const a = 1;\\n" > a.ts',
      'read a.ts',
      'read b.ts',
      'edit a.ts const a = 2;',
      'say Half of it.',
      'run one',
      'run two',
      'run three',
    );
    const page = await browser.open(t, runs.service.url, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await enter(page, runs.service, `/conversations/${id}`);
    const log = page.getByRole('log');
    await log.getByText('ran three').waitFor();
    await log.getByRole('button', { name: /^Ran 2 commands/ }).waitFor();
    assert.equal(await log.getByText('ran two').count(), 0);
    const group = log.getByRole('button', {
      name: /^Read 2 files, changed 1 file, ran 1 command \+1 −1 1 failed/,
    });
    await group.focus();
    await page.keyboard.press('Enter');
    await log.locator('.diff .removed mark', { hasText: '1' }).waitFor();
    await log.locator('.diff .added .code-keyword', { hasText: 'const' }).waitFor();
    await log.locator('summary', { hasText: 'a.ts' }).click();
    await log.locator('details .output .code-number', { hasText: '1' }).waitFor();
    await group.click();
    await log.locator('.diff').waitFor({ state: 'detached' });

    // The link to an event opens the group that it is folded into.
    const edited = (await runs.events(id)).find(({ action }) => action === 'edit')?.id;
    await page.goto(`${runs.service.url}/conversations/${id}#event-${edited}`);
    const target = log.locator('.timeline-item.target');
    await target.locator('.diff').waitFor();
    await target.hover();
    await target.getByRole('button', { name: 'Copy diff' }).click();
    await target.getByRole('button', { name: 'Copied' }).waitFor();
    assert.match(await page.evaluate<string>('navigator.clipboard.readText()'), /\n\+const a = 2;/);
    assert.equal(
      await target.getByRole('link', { name: /^Link to this event, / }).getAttribute('href'),
      `#event-${edited}`,
    );
  });

  it('shows what happened while the user was away', async (t) => {
    const id = await finished('say hello');
    const seen = (await runs.events(id)).at(-1)?.id;
    await runs.service.ask(`/api/conversations/${id}`, { method: 'PATCH', json: { seen_event_id: seen } });
    await runs.say(id, ['run one', 'edit new.txt a', `chunks ${'news\\n\\n'.repeat(60)}the end`].join('\n'));
    await runs.turns(id, 2);
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, `/conversations/${id}`);
    await page.getByRole('log').getByText('the end', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'See what is new' }).click();
    await page.getByText('2 messages, 1 file changed, 1 command').waitFor();
    await page.getByRole('button', { name: 'See what is new' }).waitFor({ state: 'detached' });
  });

  it('is searched as a whole, also where it is folded, and the search of the browser stays within reach', async (t) => {
    const id = await finished('really-run echo needleword; seq 1 60', 'run two', 'say Found it.');
    const search = `/api/conversations/${id}/search?q=needleword`;
    let matches: readonly { readonly event_id: number }[] = [];
    await until('the output is indexed', async () => {
      matches = (await runs.service.ask(search)).body.matches;
      return matches.length === 3;
    });
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, `/conversations/${id}`);
    const log = page.getByRole('log');
    await log.getByText('Found it.', { exact: true }).waitFor();
    await page.evaluate(
      `window.taken = []; addEventListener('keydown', (event) => {
        if (event.key === 'f') window.taken.push(event.defaultPrevented);
      });`,
    );
    await page.keyboard.press('Control+f');
    const field = page.getByRole('searchbox', { name: 'Search this conversation' });
    await field.fill('NEEDLEWORD');
    const bar = page.getByRole('search');
    await bar.getByText('3 of 3').waitFor();
    const target = log.locator('.timeline-item.target');
    // The output is in a folded group, and its beginning is not shown before.
    await target.locator('.output', { hasText: 'needleword' }).waitFor();
    const marked = `[...CSS.highlights.get('search-current') ?? []].map((range) => range.toString())`;
    await until('the words are marked', async () =>
      (await page.evaluate<string[]>(marked)).includes('needleword'),
    );
    await field.press('Enter');
    await field.press('Enter');
    await bar.getByText('1 of 3').waitFor();
    await target.locator('.from-user').waitFor();
    await bar.getByRole('button', { name: 'Next match' }).click();
    await bar.getByText('2 of 3').waitFor();
    await field.press('Control+f');
    assert.deepEqual(await page.evaluate('window.taken'), [true, false]);
    await field.fill('nowhere');
    await bar.getByText('No matches').waitFor();
    await field.press('Escape');
    await bar.waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('CSS.highlights.size'), 0);
  });

  it('has a review of all changes, whose comments are sent together', async (t) => {
    const id = await finished('edit a.ts const a = 1;', 'edit b.txt hello', 'say Done.');
    const page = await browser.open(t, runs.service.url, { viewport: { width: 1400, height: 860 } });
    await enter(page, runs.service, `/conversations/${id}`);
    await page.getByRole('button', { name: 'Review all' }).click();
    const review = page.getByRole('dialog', { name: 'Changes' });
    await review
      .getByRole('navigation', { name: 'Changed files' })
      .getByRole('button', { name: /b\.txt/ })
      .click();
    const code = review.getByRole('region', { name: 'Changes to a.ts' });
    await code.locator('.code-keyword', { hasText: 'const' }).waitFor();
    await review.getByRole('button', { name: 'Side by side' }).click();
    await code.locator('.review-pair .added').waitFor();
    assert.deepEqual(await faultsOf(page, 'the review'), []);
    const send = review.getByRole('button', { name: /^Send/ });
    assert.equal(await send.isDisabled(), true);
    for (const [path, text] of [
      ['a.ts', 'Why 1?'],
      ['b.txt', 'Say goodbye, too.'],
    ] as const) {
      const file = review.getByRole('region', { name: `Changes to ${path}` });
      const comment = file.getByRole('button', { name: 'Comment on line 1' });
      await comment.focus();
      await page.keyboard.press('Enter');
      await file.getByRole('textbox', { name: 'Comment on line 1' }).fill(text);
      await page.keyboard.press('Control+Enter');
      await file.getByText(text).waitFor();
    }
    // Comments outlive the dialog.
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Review all' }).click();
    await review.getByRole('button', { name: 'Send 2 comments' }).click();
    await review.waitFor({ state: 'detached' });
    const log = page.getByRole('log');
    await log.locator('.from-user', { hasText: 'b.txt, line 1:' }).waitFor();
    const sent = (await runs.events(id)).findLast(
      ({ source, action }) => source === 'user' && action === 'message',
    );
    assert.match(String(sent?.args?.['content']), /a\.ts, line 1:\n```\nconst a = 1;\n```\nWhy 1\?/);
  });
});
