// Tool servers as most programs write them down, `{"mcpServers": {…}}`, put into the lists of the record.
import type { McpConfig } from '../../../../src/client/parley.ts';
import type { Kind, Server } from './servers.ts';

type Members = Readonly<Record<string, unknown>>;

/** The record has no place for it. The message says where it stands. */
export class NoCounterpart extends Error {}

const kindsByType: ReadonlyMap<unknown, Kind> = new Map([
  [undefined, 'shttp_servers'],
  ['http', 'shttp_servers'],
  ['streamable-http', 'shttp_servers'],
  ['streamableHttp', 'shttp_servers'],
  ['sse', 'sse_servers'],
]);

function membersAt(value: unknown, at: string): Members {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members;
  throw new NoCounterpart(at);
}

/** Throws at the first member that is not known. One that switches a server off can only be left out with it. */
function refuseOthers(members: Members, known: readonly string[], at: string): void {
  for (const [name, value] of Object.entries(members))
    if (!known.includes(name) && !(name === 'disabled' && value === false))
      throw new NoCounterpart(`${at}.${name}`);
}

/** The key of the one header that is ours to send. */
function keyOf(headers: unknown, at: string): { readonly api_key?: string } {
  let found = {};
  for (const [name, value] of Object.entries(membersAt(headers ?? {}, at))) {
    const [, api_key] = /^Bearer +(\S+)$/i.exec(String(value)) ?? [];
    if (name.toLowerCase() !== 'authorization' || api_key === undefined)
      throw new NoCounterpart(`${at}.${name}`);
    found = { api_key };
  }
  return found;
}

function toServer(name: string, members: Members, at: string): { kind: Kind; server: Server } {
  const { type, transport = type, command, args, env, url, headers } = members;
  if (command !== undefined) {
    refuseOthers(members, ['type', 'transport', 'command', 'args', 'env'], at);
    const server = {
      name,
      command,
      ...(args === undefined ? {} : { args }),
      ...(env === undefined ? {} : { env }),
    };
    return { kind: 'stdio_servers', server: server as Server };
  }
  refuseOthers(members, ['type', 'transport', 'url', 'headers'], at);
  const kind = kindsByType.get(transport);
  if (kind === undefined) throw new NoCounterpart(`${at}.${type === undefined ? 'transport' : 'type'}`);
  return { kind, server: { url, ...keyOf(headers, `${at}.headers`) } as Server };
}

interface Converted {
  readonly config: McpConfig;
  readonly names: readonly string[];
}

/** Undefined where it is not of that form. What is wrong with a value is for the service to say. */
export function fromUsual(parsed: unknown): Converted | undefined {
  if (typeof parsed !== 'object' || parsed === null || !Object.hasOwn(parsed, 'mcpServers')) return undefined;
  const { mcpServers, ...rest } = parsed as Members;
  const [other] = Object.keys(rest);
  if (other !== undefined) throw new NoCounterpart(other);
  const lists: Record<Kind, Server[]> = { shttp_servers: [], sse_servers: [], stdio_servers: [] };
  const servers = Object.entries(membersAt(mcpServers, 'mcpServers'));
  for (const [name, members] of servers) {
    const at = `mcpServers.${name}`;
    const { kind, server } = toServer(name, membersAt(members, at), at);
    lists[kind].push(server);
  }
  return { config: lists as McpConfig, names: servers.map(([name]) => name) };
}
