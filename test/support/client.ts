// The client with a service in the test process, directly or behind a proxy that breaks connections.
import type { TestContext } from 'node:test';
import { createParley, ParleyError, type ParleyOptions } from '../../src/client/parley.ts';
import { startCutProxy } from './cutProxy.ts';
import { startService } from './service.ts';

/** Short delays for tests. */
export const quick = { reconnectMs: 10, reconnectMaxMs: 50 };

export async function connect(t: TestContext, options: Partial<ParleyOptions> = {}) {
  const service = await startService({}, t);
  return { service, parley: createParley({ url: service.url, key: service.key, times: quick, ...options }) };
}

export async function connectThrough(t: TestContext, options: Partial<ParleyOptions> = {}) {
  const service = await startService({}, t);
  const proxy = await startCutProxy(service.url, t);
  const parley = createParley({ url: proxy.url, key: service.key, times: quick, ...options });
  return { service, proxy, parley };
}

export const hasCode = (code: string) => (error: unknown) =>
  error instanceof ParleyError && error.code === code;
