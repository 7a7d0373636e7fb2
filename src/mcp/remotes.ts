// The remote MCP servers in one order, so that agents and the bridge mean the same server by an index.
import type { McpConfig, RemoteServer } from './schema.ts';

export interface Remote {
  readonly server: RemoteServer;
  readonly transport: 'sse' | 'http';
}

export function listRemotes(config: Pick<McpConfig, 'sse_servers' | 'shttp_servers'>): Remote[] {
  return [
    ...config.sse_servers.map((server) => ({ server, transport: 'sse' as const })),
    ...config.shttp_servers.map((server) => ({ server, transport: 'http' as const })),
  ];
}

/** The URL without its query, which may contain a secret. */
export function shownUrl(text: string): string {
  const url = new URL(text);
  return `${url.protocol}//${url.host}${url.pathname}`;
}
