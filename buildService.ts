// Puts the service in few files, for a thousand small ones take longer to find than to run.
import { cpSync, rmSync } from 'node:fs';
import type { BuildOptions, Plugin } from 'esbuild';

/** Loaded when they are needed, if ever, so the build leaves them in their packages. */
export const unbundled: readonly string[] = ['@ai-sdk/mcp', 'pg', 'undici', 'zod'];
const emptyRepository = 'workspaces/read/inside/emptyRepository';
/** Read as they are. */
const plain = [
  'models/models.json',
  'agents/profiles.json',
  'agents/settings',
  'sandbox/etc',
  emptyRepository,
];

/**
 * An import of `node:http` reads all its exports. One of them loads Node's fetch with what belongs to it, which took a
 * tenth of every start. Without an import, Node loads it when it is used.
 */
const httpOnly: Plugin = {
  name: 'http-only',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'node:http', namespace: 'http-only' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'http-only' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}');`,
    }));
  },
};

async function load() {
  try {
    return await import('esbuild');
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return undefined;
  }
}

/**
 * Returns false if esbuild is not installed, because only developers need it. `out` is beside `src`. A benchmark may change
 * sources with plugins.
 */
export async function buildService(
  out: string,
  mains: readonly string[] = [],
  plugins: readonly Plugin[] = [],
): Promise<boolean> {
  const common = {
    outdir: out,
    outbase: 'src',
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    external: [...unbundled],
    logLevel: 'warning',
    plugins: [httpOnly, ...plugins],
    // What was written for CommonJS asks for Node's modules this way.
    banner: {
      js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
    },
  } satisfies BuildOptions;
  rmSync(out, { recursive: true, force: true });
  const esbuild = await load();
  if (esbuild === undefined) return false;
  const threads = [
    'src/db/sqliteThread.ts',
    'src/db/sqliteCheckpointThread.ts',
    'src/db/sqliteReadThread.ts',
    'src/backups/thread.ts',
  ];
  const entryPoints = ['src/main.ts', 'src/transactions.ts', ...threads];
  await esbuild.build({ ...common, entryPoints, splitting: true });
  for (const main of mains) await esbuild.build({ ...common, entryPoints: [main], outbase: 'test/support' });
  // Each in one file: it is all that can be read where they run.
  const inside = [
    'src/bridge/inside.ts',
    'src/workspaces/read/inside/inspect.ts',
    'src/workspaces/write/inside/write.ts',
    'src/workspaces/snapshots/inside/take.ts',
    'src/workspaces/snapshots/inside/restore.ts',
  ];
  await esbuild.build({ ...common, entryPoints: inside });
  // Pods start it, so it has a path that does not change.
  const supervisor = { in: 'src/sandbox/kubernetes/inside/supervisor.ts', out: 'supervisor' };
  await esbuild.build({ ...common, entryPoints: [supervisor] });
  // With its libraries, for what is beside a program is not always there where it runs.
  const agent = ['src/agents/builtin/main.ts'];
  await esbuild.build({
    ...common,
    entryPoints: agent,
    external: [],
    splitting: true,
    // Not `minifySyntax`: esbuild 0.27 then drops `using` where the variable is used once, and nothing is closed.
    minifyWhitespace: true,
    minifyIdentifiers: true,
  });
  for (const path of plain) cpSync(`src/${path}`, `${out}/${path}`, { recursive: true });
  // The program that takes snapshots has code of the other bundled into it, which looks for this beside itself.
  cpSync(`src/${emptyRepository}`, `${out}/workspaces/snapshots/inside/emptyRepository`, { recursive: true });
  return true;
}
