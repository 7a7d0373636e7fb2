// Separates the secrets of an MCP configuration, so that they can be encrypted while the rest stays readable.
import type { Detail } from '../errors.ts';
import type { McpConfig, RemoteServer, StdioServer } from './schema.ts';

export const mask = '**********';

const maskFault = 'is masked, but no stored server matches it; send the real value';

/** The secrets by their position in the lists. */
export interface McpSecrets {
  readonly sse_servers: readonly (string | null)[];
  readonly stdio_servers: readonly (Readonly<Record<string, string>> | null)[];
  readonly shttp_servers: readonly (string | null)[];
}

export interface SplitMcp {
  /** The configuration with every secret masked. */
  readonly masked: McpConfig;
  /** Undefined if there is nothing to encrypt. */
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

export interface StoredMcp {
  readonly masked: McpConfig;
  readonly secrets: McpSecrets;
}

export const noMcp: StoredMcp = {
  masked: { sse_servers: [], stdio_servers: [], shttp_servers: [] },
  secrets: { sse_servers: [], stdio_servers: [], shttp_servers: [] },
};

type RemoteList = 'sse_servers' | 'shttp_servers';

const ambiguousFault = 'is masked, but several stored servers have this URL; send the real value';

/** API keys of the stored servers with that URL, in order. */
function storedKeys(stored: StoredMcp, list: RemoteList, url: string): string[] {
  return stored.masked[list].flatMap((server, i) =>
    server.url === url ? (stored.secrets[list][i] ?? []) : [],
  );
}

function restoreRemotes(
  sent: McpConfig,
  stored: StoredMcp,
  list: RemoteList,
  faults: Detail[],
): RemoteServer[] {
  const isMasked = (url: string) => (server: RemoteServer) => server.url === url && server.api_key === mask;
  return sent[list].map((server, i) => {
    if (server.api_key !== mask) return server;
    const keys = storedKeys(stored, list, server.url);
    const masked = sent[list].filter(isMasked(server.url)).length;
    // A single stored key fits every mask; several fit only as many masks, in order.
    const nth = sent[list].slice(0, i).filter(isMasked(server.url)).length;
    const api_key = keys.length === 1 ? keys[0] : keys.length === masked ? keys[nth] : undefined;
    if (api_key === undefined)
      faults.push({
        path: `mcp_config.${list}[${i}].api_key`,
        message: keys.length > 1 ? ambiguousFault : maskFault,
      });
    return { ...server, api_key: api_key ?? '' };
  });
}

function restoreStdio(sent: McpConfig, stored: StoredMcp, faults: Detail[]): StdioServer[] {
  return sent.stdio_servers.map((server, i) => {
    if (server.env === undefined) return server;
    const place = stored.masked.stdio_servers.findIndex(({ name }) => name === server.name);
    const known = stored.secrets.stdio_servers[place] ?? {};
    const env = Object.entries(server.env).map(([name, value]): [string, string] => {
      if (value !== mask) return [name, value];
      if (!Object.hasOwn(known, name))
        faults.push({ path: `mcp_config.stdio_servers[${i}].env.${name}`, message: maskFault });
      return [name, known[name] ?? ''];
    });
    return { ...server, env: Object.fromEntries(env) };
  });
}

/** Replaces masks by stored secrets. A mask without a stored secret is an error. */
export function restoreMasks(
  sent: McpConfig,
  stored: StoredMcp,
): { config: McpConfig; faults: readonly Detail[] } {
  const faults: Detail[] = [];
  const config = {
    sse_servers: restoreRemotes(sent, stored, 'sse_servers', faults),
    stdio_servers: restoreStdio(sent, stored, faults),
    shttp_servers: restoreRemotes(sent, stored, 'shttp_servers', faults),
  };
  return { config, faults };
}
