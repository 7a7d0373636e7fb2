// The MCP servers of a conversation in the form of ACP. Remote servers are reached through the bridge, which adds their
// credentials; the agent gets only the run token.
import type { AgentCapabilities, McpServer } from '@agentclientprotocol/sdk';
import { listRemotes, type Remote, shownUrl } from '../../mcp/remotes.ts';
import type { McpConfig } from '../../mcp/schema.ts';

interface ServerOptions {
  /** Decrypted, because the values of `env` must be inside the sandbox. */
  readonly config: McpConfig;
  readonly capabilities: AgentCapabilities;
  /** The name of Parley's own server at the bridge, which is also its path. */
  readonly own?: string | undefined;
  /** Undefined if the sandbox has no network access. */
  readonly bridge: { readonly origin: string; readonly token: string } | undefined;
}

export interface GivenServers {
  readonly servers: McpServer[];
  /** A sentence for people for each server that is not available. */
  readonly refused: string[];
}

const transportNames = { http: 'HTTP', sse: 'SSE' } as const;

function refusal({ server, transport }: Remote, { capabilities, bridge }: ServerOptions): string | undefined {
  const left = `The MCP server ${shownUrl(server.url)} is not available:`;
  if (!/^https?:/i.test(server.url)) return `${left} no agent supports WebSocket servers.`;
  if (bridge === undefined) return `${left} this run has no network access.`;
  if (capabilities.mcpCapabilities?.[transport] !== true)
    return `${left} this agent does not support MCP servers over ${transportNames[transport]}.`;
  return undefined;
}

const ownRefusal =
  'The tools for pull requests and issues are not available: this agent does not support MCP servers over HTTP.';

/** Derives the name of a server from its host. Agents use it in the names of tools. */
function nameAfter(url: string): string {
  return new URL(url).hostname.replaceAll(/[^A-Za-z0-9-]+/g, '_').replace(/^_+|_+$/g, '');
}

function uniqueName(name: string, taken: ReadonlySet<string>): string {
  let unique = name;
  for (let i = 2; taken.has(unique); i++) unique = `${name}_${i}`;
  return unique;
}

export function toMcpServers(options: ServerOptions): GivenServers {
  const { config, capabilities, own, bridge } = options;
  const servers: McpServer[] = config.stdio_servers.map(({ name, command, args = [], env = {} }) => ({
    name,
    command,
    args: [...args],
    env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
  }));
  const taken = new Set(servers.map(({ name }) => name));
  const refused: string[] = [];
  const give = (type: 'http' | 'sse', wantedName: string, path: string) => {
    const name = uniqueName(wantedName, taken);
    taken.add(name);
    servers.push({
      type,
      name,
      url: `${bridge?.origin}${path}`,
      headers: [{ name: 'Authorization', value: `Bearer ${bridge?.token}` }],
    });
  };
  for (const [index, remote] of listRemotes(config).entries()) {
    const why = refusal(remote, options);
    if (why !== undefined) refused.push(why);
    else give(remote.transport, nameAfter(remote.server.url), `/mcp/${index}`);
  }
  if (own !== undefined && bridge !== undefined) {
    if (capabilities.mcpCapabilities?.http === true) give('http', own, `/${own}`);
    else refused.push(ownRefusal);
  }
  return { servers, refused };
}
