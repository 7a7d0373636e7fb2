// The tool servers of a conversation as an agent is told of them. Those over HTTP are found at the bridge, which adds
// their keys outside; the agent gets the token of its run.
import type { AgentCapabilities, McpServer } from '@agentclientprotocol/sdk';
import { listRemotes, type Remote, shownUrl } from '../../mcp/remotes.ts';
import type { McpConfig } from '../../mcp/schema.ts';

interface ServerOptions {
  /** With its secrets opened: the values of `env` have to enter the sandbox. */
  readonly config: McpConfig;
  readonly capabilities: AgentCapabilities;
  /** Undefined where there is no way out of the sandbox. */
  readonly bridge: { readonly origin: string; readonly token: string } | undefined;
}

export interface GivenServers {
  readonly servers: McpServer[];
  /** A sentence for people for each that the agent does not get. */
  readonly refused: string[];
}

const transportNames = { http: 'HTTP', sse: 'SSE' } as const;

function refusal({ server, transport }: Remote, { capabilities, bridge }: ServerOptions): string | undefined {
  const left = `The tool server ${shownUrl(server.url)} is left out:`;
  if (!/^https?:/i.test(server.url)) return `${left} no agent can speak to a WebSocket server.`;
  if (bridge === undefined) return `${left} this run has no way to other servers.`;
  if (capabilities.mcpCapabilities?.[transport] !== true)
    return `${left} this agent cannot speak to tool servers over ${transportNames[transport]}.`;
  return undefined;
}

/** After its host; agents make names of tools of it. */
function nameOf(url: string, taken: ReadonlySet<string>): string {
  const name = new URL(url).hostname.replaceAll(/[^A-Za-z0-9-]+/g, '_').replace(/^_+|_+$/g, '');
  let unique = name;
  for (let i = 2; taken.has(unique); i++) unique = `${name}_${i}`;
  return unique;
}

export function toMcpServers(options: ServerOptions): GivenServers {
  const { config, bridge } = options;
  const servers: McpServer[] = config.stdio_servers.map(({ name, command, args = [], env = {} }) => ({
    name,
    command,
    args: [...args],
    env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
  }));
  const taken = new Set(servers.map(({ name }) => name));
  const refused: string[] = [];
  for (const [index, remote] of listRemotes(config).entries()) {
    const why = refusal(remote, options);
    if (why !== undefined) {
      refused.push(why);
      continue;
    }
    const name = nameOf(remote.server.url, taken);
    taken.add(name);
    servers.push({
      type: remote.transport,
      name,
      url: `${bridge?.origin}/mcp/${index}`,
      headers: [{ name: 'Authorization', value: `Bearer ${bridge?.token}` }],
    });
  }
  return { servers, refused };
}
