// The headers of a message that are forwarded, without those that are meant for this hop.
import type { IncomingHttpHeaders } from 'node:http';

const hopByHop = new Set([
  'connection',
  'expect', // answered by the server that read it
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Removes hop-by-hop headers, those that `Connection` names, and those for the proxy. */
export function endToEnd(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !hopByHop.has(name) && !named.has(name)) kept[name] = value;
  return kept;
}
