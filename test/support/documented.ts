// Checks every response of a test against openapi.json: an undocumented status or error code fails the test.
import { readFileSync } from 'node:fs';
import type { OpenApi } from '../../src/http/openapi.ts';

interface Documented {
  readonly pattern: RegExp;
  /** By method. */
  readonly operations: Readonly<Record<string, Record<string, unknown>>>;
}

let documented: readonly Documented[] | undefined;

function load(): readonly Documented[] {
  const { paths } = JSON.parse(
    readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'),
  ) as OpenApi;
  return Object.entries(paths).map(([path, operations]) => ({
    pattern: new RegExp(`^${RegExp.escape(path).replaceAll(/\\\{\w+\\\}/g, '[^/]+')}$`),
    operations,
  }));
}

/** Throws if the document has the operation but not this response. */
export function checkDocumented(method: string, url: string, status: number, code?: unknown): void {
  documented ??= load();
  const path = url.split('?')[0] ?? '';
  const operation = documented.find(({ pattern }) => pattern.test(path))?.operations[method.toLowerCase()];
  if (operation === undefined) return;
  const answer = (operation['responses'] as Record<string, { description: string } | undefined>)[status];
  const named = typeof code !== 'string' || answer?.description.includes(`\`${code}\``);
  if (answer === undefined || !named)
    throw new Error(`openapi.json does not know that ${method} ${path} answers ${status} ${code ?? ''}`);
}
