// `npm run build`: puts the service in few files under dist, for a thousand small ones take longer to find than to
// run. `./parley` takes them as long as no source is newer; nothing else knows of them.
import { cpSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import type { BuildOptions } from 'esbuild';
import { buildPage } from './web/build.ts';

const out = 'dist';
/** Loaded when they are needed, if ever. */
const lazy = ['@ai-sdk/mcp', 'pg', 'undici', 'zod'];

async function load() {
  try {
    return await import('esbuild');
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    // Installed without what only developers need.
    process.stdout.write('Not built, for esbuild is not installed: Parley runs from its sources.\n');
    return undefined;
  }
}

const common = {
  outdir: out,
  outbase: 'src',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node26',
  external: lazy,
  logLevel: 'warning',
  // What was written for CommonJS asks for Node's modules this way.
  banner: {
    js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
  },
} satisfies BuildOptions;

rmSync(out, { recursive: true, force: true });
const esbuild = await load();
await esbuild?.build({
  ...common,
  entryPoints: ['src/main.ts', 'src/transactions.ts', 'src/db/sqliteThread.ts'],
  splitting: true,
});
// Each in one file: it is all that can be read where they run.
await esbuild?.build({
  ...common,
  entryPoints: ['src/runtime/bridge/inside.ts', 'src/workspaces/inside/look.ts'],
});
// With its libraries, for what is beside a program is not always there where it runs.
await esbuild?.build({
  ...common,
  entryPoints: ['src/agent/main.ts'],
  external: [],
  splitting: true,
  minify: true,
});
/** Read as they are. */
const plain = [
  'models/models.json',
  'runtime/agents/profiles.json',
  'runtime/agents/settings',
  'runtime/sandbox/etc',
  'workspaces/inside/emptyRepository',
];
if (esbuild !== undefined)
  for (const path of plain) cpSync(`src/${path}`, `${out}/${path}`, { recursive: true });
if (!(await buildPage(resolve(out, 'web'))))
  process.stdout.write('The page is not built, for vite is not installed: the API works without it.\n');
