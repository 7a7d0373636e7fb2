// A real browser for tests of the web UI. It reaches only this machine, and every error on its console fails the test.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { launchBrowser } from '../support/chromium.ts';

/** For what never happens: on a busy machine everything takes longer. */
const waitMs = 60_000;

export interface TestBrowser {
  /** Opens a tab with its own storage. Requests to other hosts than those of the URLs fail the test. */
  open(t: Cleanup, url: string | readonly string[], options?: BrowserContextOptions): Promise<Page>;
}

interface Cleanup {
  after(fn: () => Promise<void>): void;
}

/** A request that the service rejects on purpose is not an error. */
const expected = /Failed to load resource/;

/** Collects errors and requests to other hosts. The list must be empty at the end. */
function watch(page: Page, urls: readonly string[]): () => string[] {
  const faults: string[] = [];
  const origins = new Set(urls.map((url) => new URL(url).origin));
  page.on('request', (request) => {
    const { protocol, origin: target } = new URL(request.url());
    const isLocal = protocol === 'data:' || protocol === 'blob:';
    if (!isLocal && !origins.has(target)) faults.push(`The page sent a request to ${target}.`);
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !expected.test(message.text())) faults.push(message.text());
  });
  return () => faults;
}

async function openTab(
  browser: Browser,
  t: Cleanup,
  urls: readonly string[],
  options: BrowserContextOptions,
) {
  const context = await browser.newContext({
    locale: 'en-GB',
    viewport: { width: 1280, height: 860 },
    // Every frame of an animation is drawn by the CPU.
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(waitMs);
  const page = await context.newPage();
  const faults = watch(page, urls);
  t.after(async () => {
    await context.close();
    assert.deepEqual(faults(), []);
  });
  return page;
}

/** Starts one browser for a whole file, because a start takes longer than most tests. */
export function useBrowser(options: Parameters<typeof launchBrowser>[0] = {}): TestBrowser {
  let launched: Promise<Browser> | undefined;
  after(async () => (await launched)?.close());
  return {
    open: async (t, url, context = {}) => {
      launched ??= launchBrowser(options);
      return openTab(await launched, t, [url].flat(), context);
    },
  };
}

/** Signs in with a link like the one that the service prints. */
export async function enter(
  page: Page,
  { url, key }: { readonly url: string; readonly key: string },
  path = '/',
): Promise<void> {
  await page.goto(`${url}${path}#key=${key}`);
  await page.locator('.sidebar').getByRole('button', { name: 'Sign out' }).waitFor({ state: 'attached' });
}
