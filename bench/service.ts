// Starts the real service as a child process with its own data folder, as an operator does.
import { fileURLToPath } from 'node:url';
import type { TestStorage } from '../test/support/databases.ts';
import type { Lifetime } from './lifetime.ts';
import { type Program, startProgram } from './program.ts';
import { bearerToken, sendOnce, sessionKey } from './requests.ts';

export const builtService = fileURLToPath(new URL('../dist/main.js', import.meta.url));

export interface Service extends Program {
  /** The time from the spawn to the first 200 of /ready. */
  readonly readyMs: number;
}

/** `more` overrides the defaults of the benchmark. */
export async function startService(
  lifetime: Lifetime,
  storage: TestStorage,
  more: NodeJS.ProcessEnv = {},
  main = builtService,
): Promise<Service> {
  const { PATH, TMPDIR } = process.env;
  const program = await startProgram(lifetime, [main, 'serve'], {
    PATH,
    TMPDIR,
    // ./parley uses the same flags and variables.
    NODE_COMPILE_CACHE: fileURLToPath(new URL('../node_modules/.cache/parley', import.meta.url)),
    MALLOC_ARENA_MAX: '2',
    PORT: '0',
    // No worker takes the conversations, and one user may have any number of them and of streams.
    PARLEY_ROLE: 'api',
    PARLEY_WAITING_MAX: '0',
    PARLEY_STREAMS_MAX: '0',
    PARLEY_DATA_DIR: storage.dataDir,
    SESSION_API_KEY: sessionKey,
    PARLEY_AUTH_TOKEN: bearerToken,
    ...(storage.databaseUrl === undefined ? {} : { DATABASE_URL: storage.databaseUrl }),
    ...more,
  });
  await sendOnce(program.url, { method: 'GET', path: '/ready', headers: {} });
  return { ...program, readyMs: performance.now() - program.spawnedAt };
}
