// Starts the service inside the test process, on a real socket, with an empty database of its own.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, type AppOptions, startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { createLogger } from '../../src/process/log.ts';
import { createStorage, type TestStorage } from './databases.ts';
import { checkDocumented } from './documented.ts';
import { checkStoredEvents } from './vocabulary.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly body: any;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly raw?: string | Uint8Array;
  /** Null sends no credential; the owner's API key is the default. */
  readonly key?: string | null;
  readonly bearer?: string;
}

export interface TestService {
  readonly app: App;
  readonly url: string;
  readonly storage: TestStorage;
  /** The owner's API key, with every scope. */
  readonly key: string;
  ask(path: string, ask?: Ask): Promise<Answer>;
  /** The log so far. */
  logs(): string;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly kind?: DatabaseKind;
  readonly env?: Record<string, string>;
  /** Uses an existing folder and database instead of empty ones, and keeps them. */
  readonly storage?: TestStorage;
  readonly times?: AppOptions['times'];
}

export async function ask(
  url: string,
  path: string,
  options: Ask & { key?: string | null },
): Promise<Answer> {
  const headers: Record<string, string> = { ...options.headers };
  if (options.key != null) headers['x-session-api-key'] = options.key;
  if (options.bearer !== undefined) headers['authorization'] = `Bearer ${options.bearer}`;
  if (options.json !== undefined) headers['content-type'] ??= 'application/json';
  const body = options.raw ?? (options.json === undefined ? undefined : JSON.stringify(options.json));
  const method = options.method ?? (body === undefined ? 'GET' : 'POST');
  const response = await fetch(url + path, {
    method,
    headers,
    redirect: 'manual',
    ...(body === undefined ? {} : { body: body as string }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
  const parsed = isJson ? JSON.parse(text) : undefined;
  checkDocumented(method, path, response.status, response.ok ? undefined : parsed?.code);
  return { status: response.status, headers: response.headers, text, body: parsed };
}

export async function startService(
  options: ServiceOptions,
  t?: { after(fn: () => Promise<void>): void },
): Promise<TestService> {
  const storage = options.storage ?? (await createStorage(options.kind ?? 'sqlite'));
  const env: Record<string, string> = {
    PORT: '0',
    PARLEY_DATA_DIR: storage.dataDir,
    PARLEY_LOG_LEVEL: 'debug',
    PARLEY_ROLE: 'api',
    ...(storage.databaseUrl === undefined ? {} : { DATABASE_URL: storage.databaseUrl }),
    ...options.env,
  };
  const config = readConfig(env);
  const logFile = join(storage.dataDir, 'test.log');
  writeFileSync(logFile, '', { flag: 'a' });
  const { openSync } = await import('node:fs');
  const logger = createLogger(config, openSync(logFile, 'a'));
  const app = await startApp({
    config,
    logger,
    onFatal: (error) => {
      throw error;
    },
    ...(options.times === undefined ? {} : { times: options.times }),
  });
  const key = config.sessionApiKey ?? readFileSync(join(storage.dataDir, 'owner.key'), 'utf8').trim();
  const stop = async () => {
    await app.stop();
    await checkStoredEvents(storage);
    if (options.storage === undefined) await storage.remove();
  };
  t?.after(stop);
  return {
    app,
    url: app.url,
    storage,
    key,
    ask: (path, asked = {}) => {
      const credential = asked.key === undefined && asked.bearer === undefined ? key : asked.key;
      return ask(app.url, path, { ...asked, key: credential ?? null });
    },
    logs: () => readFileSync(logFile, 'utf8'),
    stop,
  };
}
