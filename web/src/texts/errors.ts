// What went wrong, in a sentence for people: the service says it itself, but for when it cannot be reached.
import { ParleyError } from '../../../src/client/parley.ts';
import type { Texts } from './en.ts';

type Detail = ParleyError['details'][number];

/** Where nobody knows what it was, the id finds it in the log of the service. */
export function errorText(error: unknown, { errors, shell }: Texts): string {
  if (!(error instanceof ParleyError)) return shell.broken;
  const own = (errors as unknown as Record<string, string | undefined>)[error.code];
  const text = own ?? error.message;
  return error.code === 'internal' && error.requestId !== undefined
    ? `${text} ${errors.request(error.requestId)}`
    : text;
}

function isAt({ path }: Detail, place: string): boolean {
  return path === place || path.startsWith(`${place}.`);
}

/** The faults of one place in what was sent, such as `llm_base_url` or `mcp_config.stdio_servers`. */
export function faultsAt(error: unknown, path: string): string | undefined {
  if (!(error instanceof ParleyError)) return undefined;
  const found = error.details.filter((detail) => isAt(detail, path));
  return found.length === 0 ? undefined : found.map((detail) => placed(detail, path)).join('; ');
}

/** Whether it says nothing but what is wrong at these places. */
export function isOnlyAt(error: unknown, places: readonly string[]): boolean {
  if (!(error instanceof ParleyError) || error.details.length === 0) return false;
  return error.details.every((detail) => places.some((place) => isAt(detail, place)));
}

function placed({ path, message }: Detail, place: string): string {
  const rest = path.slice(place.length + 1);
  return rest === '' ? message : `${rest} ${message}`;
}
