// Converts MCP servers from the format of most programs, `{"mcpServers": {…}}`, to the settings record.
import type { McpConfig } from '../../../../src/client/parley.ts';
import type { Server, ServerType } from './servers.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** The settings record has no such field. The message is the path of the field. */
export class UnsupportedField extends Error {}

const kindsByType: ReadonlyMap<unknown, ServerType> = new Map([
  [undefined, 'shttp_servers'],
  ['http', 'shttp_servers'],
  ['streamable-http', 'shttp_servers'],
  ['streamableHttp', 'shttp_servers'],
  ['sse', 'sse_servers'],
]);

function objectAt(value: unknown, at: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw new UnsupportedField(at);
}

/** Throws at the first unknown field. `disabled: false` is harmless. */
function rejectUnknownFields(object: JsonObject, known: readonly string[], at: string): void {
  for (const [name, value] of Object.entries(object))
    if (!known.includes(name) && !(name === 'disabled' && value === false))
      throw new UnsupportedField(`${at}.${name}`);
}

/** The settings record can only express one header, `Authorization: Bearer`. */
function apiKeyFromHeaders(headers: unknown, at: string): { readonly api_key?: string } {
  let found = {};
  for (const [name, value] of Object.entries(objectAt(headers ?? {}, at))) {
    const [, api_key] = /^Bearer +(\S+)$/i.exec(String(value)) ?? [];
    if (name.toLowerCase() !== 'authorization' || api_key === undefined)
      throw new UnsupportedField(`${at}.${name}`);
    found = { api_key };
  }
  return found;
}

function toServer(name: string, object: JsonObject, at: string): { kind: ServerType; server: Server } {
  const { type, transport = type, command, args, env, url, headers } = object;
  if (command !== undefined) {
    rejectUnknownFields(object, ['type', 'transport', 'command', 'args', 'env'], at);
    const server = {
      name,
      command,
      ...(args === undefined ? {} : { args }),
      ...(env === undefined ? {} : { env }),
    };
    return { kind: 'stdio_servers', server: server as Server };
  }
  rejectUnknownFields(object, ['type', 'transport', 'url', 'headers'], at);
  const kind = kindsByType.get(transport);
  if (kind === undefined) throw new UnsupportedField(`${at}.${type === undefined ? 'transport' : 'type'}`);
  return { kind, server: { url, ...apiKeyFromHeaders(headers, `${at}.headers`) } as Server };
}

interface Converted {
  readonly config: McpConfig;
  readonly names: readonly string[];
}

/** Returns undefined for another format. The service checks the values. */
export function fromMcpServersJson(parsed: unknown): Converted | undefined {
  if (typeof parsed !== 'object' || parsed === null || !Object.hasOwn(parsed, 'mcpServers')) return undefined;
  const { mcpServers, ...rest } = parsed as JsonObject;
  const [other] = Object.keys(rest);
  if (other !== undefined) throw new UnsupportedField(other);
  const lists: Record<ServerType, Server[]> = { shttp_servers: [], sse_servers: [], stdio_servers: [] };
  const servers = Object.entries(objectAt(mcpServers, 'mcpServers'));
  for (const [name, value] of servers) {
    const at = `mcpServers.${name}`;
    const { kind, server } = toServer(name, objectAt(value, at), at);
    lists[kind].push(server);
  }
  return { config: lists as McpConfig, names: servers.map(([name]) => name) };
}
