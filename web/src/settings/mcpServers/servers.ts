// Converts MCP servers between the settings record, the fields of the form, and JSON.
import type { McpConfig, Settings } from '../../../../src/client/parley.ts';
import type { Secrets } from '../entries/useEntryForm.ts';
import { mayHoldSecret } from './possibleSecrets.ts';

/** Stands for a stored secret. Sent back, it leaves the secret as it is. */
export const mask = '**********';

export const serverTypes = ['shttp_servers', 'sse_servers', 'stdio_servers'] as const;
export type ServerType = (typeof serverTypes)[number];

interface RemoteServer {
  readonly url: string;
  readonly api_key?: string | null;
  readonly timeout?: number | string | null;
}

interface StdioServer {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export type Server = RemoteServer | StdioServer;

export interface Position {
  readonly kind: ServerType;
  readonly index: number;
}

export interface ListedServer extends Position {
  /** Derived from the content, so that it stays the same when other servers are added or removed. */
  readonly id: string;
  readonly server: Server;
}

export function positionPath({ kind, index }: Position): string {
  return `${kind}[${index}]`;
}

function listOf(config: Settings['mcp_config'], kind: ServerType): readonly Server[] {
  return (config?.[kind] ?? []) as readonly Server[];
}

export function listServers(config: Settings['mcp_config']): ListedServer[] {
  const counts = new Map<string, number>();
  return serverTypes.flatMap((kind) =>
    listOf(config, kind).map((server, index) => {
      const text = JSON.stringify([kind, server]);
      const before = counts.get(text) ?? 0;
      counts.set(text, before + 1);
      return { kind, index, id: before === 0 ? text : `${text} ${before}`, server };
    }),
  );
}

/** Returns undefined if the server has been removed or changed. */
export function findServer(config: Settings['mcp_config'], id: string | null): ListedServer | undefined {
  return listServers(config).find((listed) => listed.id === id);
}

/** The position of the server, or the end of its list. */
export function positionOf(config: Settings['mcp_config'], id: string | null, kind: ServerType): Position {
  return findServer(config, id) ?? { kind, index: listOf(config, kind).length };
}

export const isStdio = (server: Server): server is StdioServer => 'command' in server;

export const serverName = (server: Server) => (isStdio(server) ? server.name : server.url);

export interface EnvField {
  /** Names the value among the secrets of the form. */
  readonly id: string;
  readonly name: string;
  readonly stored: boolean;
}

export interface ServerFields {
  readonly kind: ServerType;
  readonly url: string;
  readonly timeout: string;
  readonly hasKey: boolean;
  readonly name: string;
  readonly command: string;
  readonly args: string;
  readonly env: readonly EnvField[];
}

export const newServer: ServerFields = {
  kind: 'shttp_servers',
  url: '',
  timeout: '',
  hasKey: false,
  name: '',
  command: '',
  args: '',
  env: [],
};

export function toFields({ kind, server }: ListedServer): ServerFields {
  if (!isStdio(server)) {
    const { url, api_key, timeout } = server;
    return { ...newServer, kind, url, timeout: String(timeout ?? ''), hasKey: api_key != null };
  }
  const { name, command, args = [], env = {} } = server;
  const names = Object.keys(env).map((variable) => ({ id: variable, name: variable, stored: true }));
  return { ...newServer, kind, name, command, args: args.join('\n'), env: names };
}

export const envSecret = (id: string) => `env ${id}`;

function apiKeyToSend({ hasKey }: ServerFields, secrets: Secrets): string | undefined {
  const typed = secrets['api_key'];
  return typed === undefined ? (hasKey ? mask : undefined) : typed || undefined;
}

/** Text that is not a number is sent as it is, so that the service rejects it. */
function seconds(text: string): number | string {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : text;
}

function toRemote(fields: ServerFields, secrets: Secrets): RemoteServer {
  const api_key = apiKeyToSend(fields, secrets);
  const timed = fields.kind === 'shttp_servers' && fields.timeout.trim() !== '';
  return {
    url: fields.url.trim(),
    ...(api_key === undefined ? {} : { api_key }),
    ...(timed ? { timeout: seconds(fields.timeout) } : {}),
  };
}

function toStdio({ name, command, args, env }: ServerFields, secrets: Secrets): StdioServer {
  const lines = args.split('\n').filter((line) => line.trim() !== '');
  const values = env
    .filter((variable) => variable.name.trim() !== '')
    .map(({ id, name: variable, stored }): [string, string] => [
      variable.trim(),
      secrets[envSecret(id)] ?? (stored ? mask : ''),
    ]);
  return {
    name: name.trim(),
    command: command.trim(),
    ...(lines.length === 0 ? {} : { args: lines }),
    ...(values.length === 0 ? {} : { env: Object.fromEntries(values) }),
  };
}

/** The server to send. Arguments that were not edited are taken from `stored`: one with a line break does not fit the form. */
export function toServer(fields: ServerFields, secrets: Secrets, stored: Server | undefined): Server {
  if (fields.kind !== 'stdio_servers') return toRemote(fields, secrets);
  const server = toStdio(fields, secrets);
  if (stored === undefined || !isStdio(stored)) return server;
  const { args = [] } = stored;
  return fields.args === args.join('\n') && args.length > 0 ? { ...server, args } : server;
}

/** Returns one list with the server replaced, added or removed. The service keeps the other lists. */
export function withServer(
  config: Settings['mcp_config'],
  { kind, index }: Position,
  server: Server | undefined,
): McpConfig {
  const list = [...listOf(config, kind)];
  list.splice(index, 1, ...(server === undefined ? [] : [server]));
  return { [kind]: list } as McpConfig;
}

export function toJson(config: Settings['mcp_config']): string {
  const lists = serverTypes.map((kind) => [kind, listOf(config, kind)]);
  return JSON.stringify(Object.fromEntries(lists), null, 2);
}

/** Missing lists become empty, so that saving removes their servers. Throws `SyntaxError`. */
export function fromJson(text: string): McpConfig | null {
  if (text.trim() === '') return null;
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return parsed as McpConfig;
  return { sse_servers: [], stdio_servers: [], shttp_servers: [], ...parsed };
}

/** Returns undefined if the fields may contain a secret. */
export function storableFields(fields: ServerFields): ServerFields | undefined {
  const typed = [fields.url, fields.command, ...fields.args.split(/\s+/)];
  return typed.some(mayHoldSecret) ? undefined : fields;
}

/** Whether the JSON may contain secrets that the service does not have yet. */
export function hasUnstoredSecrets(text: string): boolean {
  try {
    const secrets: unknown[] = [];
    JSON.parse(text, (name, value: unknown) => {
      if (name === 'api_key') secrets.push(value);
      if (name === 'env' || name === 'headers') secrets.push(...Object.values(value ?? {}));
      if (typeof value === 'string' && mayHoldSecret(value)) secrets.push(value);
      return value;
    });
    return secrets.some((secret) => secret !== mask && secret !== null && secret !== '');
  } catch {
    return true;
  }
}
