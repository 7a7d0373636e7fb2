// A real browser for tests of the page. It reaches this machine alone, and whatever it complains of is kept.
import chromium from '@sparticuz/chromium';
import { type Browser, type BrowserContextOptions, type Page, chromium as playwright } from 'playwright-core';

/** Of the flags that the package offers, without those that weaken what is tested: origins and certificates. */
const weakening = /--(disable-web-security|allow-running-insecure-content|disable-site-isolation-trials)/;
const flags = [
  ...chromium.args.filter((flag) => !weakening.test(flag)),
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];
const waitMs = 15_000;

export interface Tab {
  readonly page: Page;
  /** The origins of all requests so far. */
  origins(): ReadonlySet<string>;
  /** Errors of the page, of the console, and of its policy. */
  complaints(): readonly string[];
  close(): Promise<void>;
}

export interface TestBrowser {
  open(options?: BrowserContextOptions): Promise<Tab>;
  close(): Promise<void>;
}

/** A request that fails on purpose is no complaint. */
const expected = /Failed to load resource/;

async function openTab(browser: Browser, options: BrowserContextOptions): Promise<Tab> {
  const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(waitMs);
  const page = await context.newPage();
  const origins = new Set<string>();
  const complaints: string[] = [];
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && protocol !== 'blob:') origins.add(origin);
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !expected.test(message.text())) complaints.push(message.text());
  });
  return { page, origins: () => origins, complaints: () => complaints, close: () => context.close() };
}

/** One for a whole file: a start takes longer than most tests. */
export async function startBrowser(): Promise<TestBrowser> {
  const browser = await playwright.launch({ executablePath: await chromium.executablePath(), args: flags });
  return { open: (options = {}) => openTab(browser, options), close: () => browser.close() };
}
