// The program that tests start as a process: built, for from its sources each start takes a second more. `test/run.ts`
// sees to it that what is built is as new as they are.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildService } from '../../buildService.ts';

export const projectDir = resolve(import.meta.dirname, '../..');
/** Halves the time of a start. Keyed by content, so that it may outlive a run. */
export const compileCacheDir = join(projectDir, 'node_modules/.cache/parley-test');
const out = 'dist-test';
/** As `./parley` runs it. */
export const mainFile = join(projectDir, out, 'main.js');
/** The same, with times that are quicker to wait for. */
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

/** Builds it where it is missing or older than its sources. */
export async function prepareProgram(): Promise<void> {
  process.chdir(projectDir);
  if (isStale()) await buildService(out, [quickMain]);
}
