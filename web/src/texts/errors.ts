// What went wrong, in a sentence for people: the service says it itself, but for when it cannot be reached.
import { ParleyError } from '../../../src/client/parley.ts';
import type { Texts } from './en.ts';

export function errorText(error: unknown, { errors, shell }: Texts): string {
  if (!(error instanceof ParleyError)) return shell.broken;
  const own = (errors as Record<string, string>)[error.code];
  return own ?? error.message;
}

/** The faults of one place in what was sent, such as `llm_base_url` or `mcp_config.stdio_servers`. */
export function faultsAt(error: unknown, path: string): string | undefined {
  if (!(error instanceof ParleyError)) return undefined;
  const found = error.details.filter((detail) => detail.path === path || detail.path.startsWith(`${path}.`));
  return found.length === 0 ? undefined : found.map((detail) => placed(detail, path)).join('; ');
}

function placed(detail: { readonly path: string; readonly message: string }, path: string): string {
  const rest = detail.path.slice(path.length + 1);
  return rest === '' ? detail.message : `${rest} ${detail.message}`;
}
