// Measures the web UI in a real browser: what a first visit loads, how soon it can be used, and how a long conversation
// opens and scrolls.
import { readFileSync, statSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { launchBrowser } from '../test/support/chromium.ts';
import { createStorage } from '../test/support/databases.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { atMost, type PartReport, whole } from './report.ts';
import { sessionKey } from './requests.ts';
import { startService } from './service.ts';
import { median, percentile, spread } from './statistics.ts';

const targets = { bytes: 250_000, usableMs: 1_000, openMs: 1_000 };
const built = new URL('../dist/web/', import.meta.url);
const eventsPerRound = 5;
const eventsInLog = 10_000;
const framesScrolled = 200;
const pxPerFrame = 400;

function firstLoadBytes(): number {
  const index = readFileSync(new URL('index.html', built), 'utf8');
  const files = [...index.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, name = '']) => name);
  return ['index.html', ...files]
    .map((name) => statSync(new URL(`${name}.br`, built)).size)
    .reduce((sum, size) => sum + size, 0);
}

/** Messages, commands and edits as in real logs. */
function longLog(): string {
  const rounds = Array.from({ length: eventsInLog / eventsPerRound }, (_, i) => {
    const call = { source: 'agent', message: '', tool_call_id: `c${i}` };
    const edit = { ...call, tool_call_id: `e${i}` };
    const diff = '--- a.ts\n+++ a.ts\n@@ -1,1 +1,1 @@\n-const port = 3000;\n+const port = 3001;';
    const said = `Round **${i}**: the test still fails, because \`port\` is taken. I look at the next place. `;
    return [
      { source: 'agent', message: '', action: 'message', args: { content: said.repeat(2) } },
      { ...call, action: 'run', args: { command: `npm test -- --shard ${i}` } },
      { ...call, observation: 'run', content: 'ok 1 - a line\n'.repeat(8), extras: { outcome: 'completed' } },
      { ...edit, action: 'edit', args: { path: '/workspace/a.ts', operation: 'edit' } },
      { ...edit, observation: 'edit', content: diff, extras: { path: '/workspace/a.ts' } },
    ];
  });
  return JSON.stringify(rounds.flat());
}

/** The time from the start of the navigation until the input can be used and the list is shown. */
async function usableMs(page: Page, url: string): Promise<number> {
  await page.goto('about:blank');
  await page.goto(url, { waitUntil: 'commit' });
  return page.evaluate<number>(`new Promise((done) => {
    const look = () => document.querySelector('.composer textarea') && document.querySelector('.rows a')
      ? done(performance.now()) : requestAnimationFrame(look);
    look();
  })`);
}

/** The time from the click in the list until the end of the conversation is shown. */
async function openMs(page: Page, url: string): Promise<number> {
  await page.goto(url);
  await page.locator('.rows a').first().waitFor();
  return page.evaluate<number>(`new Promise((done) => {
    const before = performance.now();
    document.querySelector('.rows a').click();
    const look = () => [...document.querySelectorAll('.timeline-item')].some((item) => item.textContent.includes('The end'))
      ? requestAnimationFrame(() => done(performance.now() - before)) : requestAnimationFrame(look);
    look();
  })`);
}

/** Milliseconds between two frames while the conversation is scrolled up. */
function scrollFrames(page: Page): Promise<number[]> {
  return page.evaluate<number[]>(`new Promise((done) => {
    const list = document.querySelector('.scroller');
    const gaps = [];
    let last;
    const step = (now) => {
      if (last !== undefined) gaps.push(now - last);
      last = now;
      list.scrollTop -= ${pxPerFrame};
      if (gaps.length < ${framesScrolled}) requestAnimationFrame(step); else done(gaps);
    };
    requestAnimationFrame(step);
  })`);
}

export async function measurePage(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const { opens } = plan.page;
  process.stderr.write(`page, ${opens} visits …\n`);
  const storage = await createStorage('sqlite');
  const service = await startService(lifetime, storage);
  const browser = await launchBrowser();
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  await page.goto(`${service.url}/#key=${sessionKey}`);
  const body = JSON.stringify({ replay_json: longLog(), initial_user_msg: 'The end' });
  const headers = { 'x-session-api-key': sessionKey, 'content-type': 'application/json' };
  await fetch(`${service.url}/api/conversations`, { method: 'POST', headers, body });
  const usable: number[] = [];
  const open: number[] = [];
  for (let i = 0; i < opens; i++) {
    usable.push(await usableMs(page, `${service.url}/`));
    open.push(await openMs(page, `${service.url}/`));
  }
  const frames = (await scrollFrames(page)).sort((a, b) => a - b);
  await browser.close();
  await service.stop();
  await storage.remove();

  const ms = (value: number) => `${whole(value)} ms`;
  const kb = (value: number) => `${whole(value / 1_000)} KB`;
  const bytes = firstLoadBytes();
  const rows = [
    ['First load, compressed', kb(bytes), '–'],
    ['Usable after the navigation, median', ms(median(usable)), spread(usable, ms)],
    [`A conversation of ${whole(eventsInLog)} events open, median`, ms(median(open)), spread(open, ms)],
    ['Frame while it is scrolled, p50', ms(median(frames)), `p95 ${ms(percentile(frames, 0.95))}`],
  ];
  return {
    tables: [{ title: 'The page', heads: ['', 'measured', 'spread'], rows }],
    figures: [
      atMost('First load of the page, compressed', bytes, targets.bytes, kb),
      atMost('The page usable, median', median(usable), targets.usableMs, ms),
      atMost('A conversation of 10,000 events open on the page, median', median(open), targets.openMs, ms),
    ],
  };
}
