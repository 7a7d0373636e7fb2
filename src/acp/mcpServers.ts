// Converts the MCP servers of a client to those of a conversation. They run in the sandbox, not on the client's machine.
import { type McpServer, RequestError } from '@agentclientprotocol/sdk';
import type { McpConfig } from '../client/parley.ts';

/** The name of a server that is a program, in the characters that the service allows. */
function nameOf(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]+/g, '-') || 'server';
}

const shownCharsMax = 100;

/** The only header that the service can store. */
function keyOf({ name, headers }: Extract<McpServer, { type: string }>, path: string) {
  const [authorization, ...others] = headers;
  if (authorization === undefined) return {};
  const [, key] = /^Bearer\s+(\S+)$/i.exec(authorization.value) ?? [];
  if (others.length > 0 || authorization.name.toLowerCase() !== 'authorization' || key === undefined)
    throw RequestError.invalidParams(
      { path },
      `the MCP server ${JSON.stringify(name.slice(0, shownCharsMax))} has a header that is not supported: only Authorization with a Bearer token is`,
    );
  return { api_key: key };
}

export function toMcpConfig(servers: readonly McpServer[]): McpConfig | undefined {
  if (servers.length === 0) return undefined;
  const config = {
    sse_servers: [] as { url: string; api_key?: string }[],
    shttp_servers: [] as { url: string; api_key?: string }[],
    stdio_servers: [] as { name: string; command: string; args: string[]; env: Record<string, string> }[],
  };
  servers.forEach((server, i) => {
    const path = `mcpServers.${i}.headers`;
    if (!('type' in server)) {
      const env = Object.fromEntries(server.env.map(({ name, value }) => [name, value]));
      config.stdio_servers.push({
        name: nameOf(server.name),
        command: server.command,
        args: server.args,
        env,
      });
    } else if (server.type === 'sse') config.sse_servers.push({ url: server.url, ...keyOf(server, path) });
    else config.shttp_servers.push({ url: server.url, ...keyOf(server, path) });
  });
  return config;
}
