// Turns errors into texts: the message of the service, or our own if it could not be reached.
import { ParleyError } from '../../../src/client/parley.ts';
import type { Texts } from './en.ts';

type Detail = ParleyError['details'][number];

/** Adds the request id to internal errors, so that operators can find them in the log. */
export function errorText(error: unknown, { errors, shell }: Texts): string {
  if (!(error instanceof ParleyError)) return shell.broken;
  const own = (errors as unknown as Record<string, string | undefined>)[error.code];
  const text = own ?? error.message;
  return error.code === 'internal' && error.requestId !== undefined
    ? `${text} ${errors.request(error.requestId)}`
    : text;
}

function isAt({ path }: Detail, parent: string): boolean {
  return path === parent || path.startsWith(`${parent}.`);
}

/** The errors at or below a path of the request, such as `llm_base_url` or `mcp_config.stdio_servers`. */
export function fieldErrorAt(error: unknown, path: string): string | undefined {
  if (!(error instanceof ParleyError)) return undefined;
  const found = error.details.filter((detail) => isAt(detail, path));
  return found.length === 0 ? undefined : found.map((detail) => messageBelow(detail, path)).join('; ');
}

/** Whether all details of the error are at these paths. */
export function isOnlyAt(error: unknown, paths: readonly string[]): boolean {
  if (!(error instanceof ParleyError) || error.details.length === 0) return false;
  return error.details.every((detail) => paths.some((path) => isAt(detail, path)));
}

function messageBelow({ path, message }: Detail, parent: string): string {
  const rest = path.slice(parent.length + 1);
  return rest === '' ? message : `${rest} ${message}`;
}
