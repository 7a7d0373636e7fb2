// The program that tests start as a process. It is built, because starting from source takes a second longer.
// `test/run.ts` keeps the build up to date.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildService } from '../../buildService.ts';

export const projectDir = resolve(import.meta.dirname, '../..');
/** Halves the start time. It is keyed by content, so it can be kept between runs. */
export const compileCacheDir = join(projectDir, 'node_modules/.cache/parley-test');
const out = 'dist-test';
/** As `./parley` runs it. */
export const mainFile = join(projectDir, out, 'main.js');
/** The same, with shorter times. */
export const quickMainFile = join(projectDir, out, 'quickMain.js');
const quickMain = 'test/support/quickMain.ts';

function newestMs(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return Math.max(...files.map((file) => statSync(join(folder, file)).mtimeMs));
}

function isStale(): boolean {
  if (!existsSync(quickMainFile)) return true;
  const sources = [newestMs('src'), statSync(quickMain).mtimeMs, statSync('buildService.ts').mtimeMs];
  return Math.max(...sources) > statSync(quickMainFile).mtimeMs;
}

/** Builds it if it is missing or outdated. */
export async function prepareProgram(): Promise<void> {
  process.chdir(projectDir);
  if (isStale()) await buildService(out, [quickMain]);
}
