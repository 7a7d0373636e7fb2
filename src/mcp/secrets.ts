// Takes the secrets out of a tool-server configuration, so that they can be sealed and the rest kept readable.
import type { McpConfig, RemoteServer, StdioServer } from './schema.ts';

export const mask = '**********';

/** The secrets by the place they were taken from, in the order of the lists. */
export interface McpSecrets {
  readonly sse_servers: readonly (string | null)[];
  readonly stdio_servers: readonly (Readonly<Record<string, string>> | null)[];
  readonly shttp_servers: readonly (string | null)[];
}

export interface SplitMcp {
  /** The configuration with every secret masked. */
  readonly masked: McpConfig;
  /** Undefined where there is nothing to seal. */
  readonly secrets: McpSecrets | undefined;
}

function maskRemote(server: RemoteServer): RemoteServer {
  return server.api_key === undefined ? server : { ...server, api_key: mask };
}

function maskStdio(server: StdioServer): StdioServer {
  if (server.env === undefined) return server;
  return { ...server, env: Object.fromEntries(Object.keys(server.env).map((name) => [name, mask])) };
}

export function splitMcp(config: McpConfig): SplitMcp {
  const secrets: McpSecrets = {
    sse_servers: config.sse_servers.map(({ api_key }) => api_key ?? null),
    stdio_servers: config.stdio_servers.map(({ env }) => env ?? null),
    shttp_servers: config.shttp_servers.map(({ api_key }) => api_key ?? null),
  };
  const some = Object.values(secrets).some((list) => list.some((secret: unknown) => secret !== null));
  return {
    masked: {
      sse_servers: config.sse_servers.map(maskRemote),
      stdio_servers: config.stdio_servers.map(maskStdio),
      shttp_servers: config.shttp_servers.map(maskRemote),
    },
    secrets: some ? secrets : undefined,
  };
}
