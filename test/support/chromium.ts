// The browser for tests: from a package, unpacked atomically however many tests want it at once, or an installed
// Chromium.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packed, { inflate } from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';
import { projectDir } from './program.ts';

const cache = join(projectDir, 'node_modules/.cache');
const folder = join(cache, 'parley-browser');
/** Not the package's own flags, which are for a single page in one process and weaken what is tested. */
const flags = [
  '--no-sandbox',
  '--no-zygote',
  '--disable-gpu',
  '--font-render-hinting=none',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
];

/** The browser that comes as a package is built for Linux on x64 only. */
const hasPacked = process.platform === 'linux' && process.arch === 'x64';
const installedNames = ['chromium', 'chromium-browser', 'google-chrome'];

function findInstalled(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return installedNames
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((file) => existsSync(file));
}

const installed = hasPacked ? undefined : findInstalled();

/** Why tests of the web UI cannot run here; false if they can. */
export const noBrowser =
  hasPacked || installed !== undefined
    ? false
    : `no browser for ${process.platform} on ${process.arch}: install Chromium (looked for ${installedNames.join(', ')} in PATH)`;

/** Includes the libraries and fonts that a small machine lacks. */
async function unpack(): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(join(cache, 'browser-'));
  const before = process.env['TMPDIR'];
  // The package unpacks to this folder.
  process.env['TMPDIR'] = fresh;
  try {
    await packed.executablePath();
    await inflate(fileURLToPath(new URL('../bin/al2023.tar.br', import.meta.resolve('@sparticuz/chromium'))));
    if (!existsSync(folder)) renameSync(fresh, folder);
  } catch (error) {
    // Another process was faster.
    if (!existsSync(folder)) throw error;
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
    rmSync(fresh, { recursive: true, force: true });
  }
}

interface LaunchOptions {
  /** Keep the back/forward cache, which Playwright disables. */
  readonly keepsPages?: boolean;
}

/** The browser can reach only this machine. */
export async function launchBrowser({ keepsPages = false }: LaunchOptions = {}): Promise<Browser> {
  const common = {
    args: flags,
    ...(keepsPages ? { ignoreDefaultArgs: ['--disable-back-forward-cache'] } : {}),
  };
  if (installed !== undefined) return chromium.launch({ executablePath: installed, ...common });
  if (!existsSync(folder)) await unpack();
  const options = { executablePath: join(folder, 'chromium'), ...common };
  try {
    return await chromium.launch(options);
  } catch {
    const own = {
      LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
      FONTCONFIG_PATH: join(folder, 'fonts'),
    };
    return chromium.launch({ ...options, env: { ...process.env, ...own } as Record<string, string> });
  }
}
