// The headers of a model request: a few of the agent's, and the user's API key in the form that the provider expects.
import type { IncomingMessage } from 'node:http';
import type { Upstream } from '../models/providers.ts';

function authorize({ authorization }: Upstream, key: string | undefined): Record<string, string> {
  if (key === undefined) return {};
  return authorization === 'bearer' ? { authorization: `Bearer ${key}` } : { [authorization]: key };
}

const requestHeaders = [
  'accept',
  'anthropic-version',
  'anthropic-beta',
  'openai-beta',
  'user-agent',
] as const;

export function headersOf(request: IncomingMessage, upstream: Upstream, key: string | undefined) {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
  };
  for (const name of requestHeaders) {
    const value = request.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  return { ...headers, ...authorize(upstream, key) };
}
