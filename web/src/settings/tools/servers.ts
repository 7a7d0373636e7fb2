// Tool servers between three shapes: the lists of the record, the fields of a form, and what is sent.
import type { McpConfig, Settings } from '../../../../src/client/parley.ts';
import type { Secrets } from '../entry.ts';

/** What stands for a stored secret, and means it when it is sent. */
export const mask = '**********';

export const kinds = ['shttp_servers', 'sse_servers', 'stdio_servers'] as const;
export type Kind = (typeof kinds)[number];

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

export interface Place {
  readonly kind: Kind;
  readonly index: number;
}

export interface PlacedServer extends Place {
  /** What it is, and not where: it stays the same while others come and go. */
  readonly id: string;
  readonly server: Server;
}

export function placeId({ kind, index }: Place): string {
  return `${kind}[${index}]`;
}

/** As the record holds them: without short forms. */
function listOf(config: Settings['mcp_config'], kind: Kind): readonly Server[] {
  return (config?.[kind] ?? []) as readonly Server[];
}

export function listServers(config: Settings['mcp_config']): PlacedServer[] {
  const counts = new Map<string, number>();
  return kinds.flatMap((kind) =>
    listOf(config, kind).map((server, index) => {
      const text = JSON.stringify([kind, server]);
      const before = counts.get(text) ?? 0;
      counts.set(text, before + 1);
      return { kind, index, id: before === 0 ? text : `${text} ${before}`, server };
    }),
  );
}

/** Undefined where it is gone, or is not as it was any more. */
export function findServer(config: Settings['mcp_config'], id: string | null): PlacedServer | undefined {
  return listServers(config).find((placed) => placed.id === id);
}

/** Where it is, or the end of its list. */
export function placeOf(config: Settings['mcp_config'], id: string | null, kind: Kind): Place {
  return findServer(config, id) ?? { kind, index: listOf(config, kind).length };
}

export const isStdio = (server: Server): server is StdioServer => 'command' in server;

export const serverName = (server: Server) => (isStdio(server) ? server.name : server.url);

export interface EnvField {
  /** For the value that is typed, which is no field. */
  readonly id: string;
  readonly name: string;
  readonly stored: boolean;
}

export interface ServerFields {
  readonly kind: Kind;
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

export function toFields({ kind, server }: PlacedServer): ServerFields {
  if (!isStdio(server)) {
    const { url, api_key, timeout } = server;
    return { ...newServer, kind, url, timeout: String(timeout ?? ''), hasKey: api_key != null };
  }
  const { name, command, args = [], env = {} } = server;
  const names = Object.keys(env).map((variable) => ({ id: variable, name: variable, stored: true }));
  return { ...newServer, kind, name, command, args: args.join('\n'), env: names };
}

export const envSecret = (id: string) => `env ${id}`;

/** Undefined: none is to be sent. */
function keyOf({ hasKey }: ServerFields, secrets: Secrets): string | undefined {
  const typed = secrets['api_key'];
  return typed === undefined ? (hasKey ? mask : undefined) : typed || undefined;
}

/** A number, or for the service to refuse. */
function seconds(text: string): number | string {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : text;
}

function toRemote(fields: ServerFields, secrets: Secrets): RemoteServer {
  const api_key = keyOf(fields, secrets);
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

/** What was typed, as it is sent; `stored` keeps what a text of lines cannot hold, where nobody has touched it. */
export function toServer(fields: ServerFields, secrets: Secrets, stored: Server | undefined): Server {
  if (fields.kind !== 'stdio_servers') return toRemote(fields, secrets);
  const server = toStdio(fields, secrets);
  if (stored === undefined || !isStdio(stored)) return server;
  const { args = [] } = stored;
  return fields.args === args.join('\n') && args.length > 0 ? { ...server, args } : server;
}

/** One list with that server at its place, or without one there. The others stay as they are stored. */
export function withServer(
  config: Settings['mcp_config'],
  { kind, index }: Place,
  server: Server | undefined,
): McpConfig {
  const list = [...listOf(config, kind)];
  list.splice(index, 1, ...(server === undefined ? [] : [server]));
  return { [kind]: list } as McpConfig;
}

/** As somebody reads and edits it. */
export function toJson(config: Settings['mcp_config']): string {
  const lists = kinds.map((kind) => [kind, listOf(config, kind)]);
  return JSON.stringify(Object.fromEntries(lists), null, 2);
}

/** Lists that are left out are empty: what is written is all there is. Throws what `JSON.parse` throws. */
export function fromJson(text: string): McpConfig | null {
  if (text.trim() === '') return null;
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return parsed as McpConfig;
  return { sse_servers: [], stdio_servers: [], shttp_servers: [], ...parsed };
}

/** Whether a text holds a key that is not stored yet, as far as can be told. */
export function holdsSecrets(text: string): boolean {
  try {
    const secrets: unknown[] = [];
    JSON.parse(text, (name, value: unknown) => {
      if (name === 'api_key') secrets.push(value);
      if (name === 'env' || name === 'headers') secrets.push(...Object.values(value ?? {}));
      return value;
    });
    return secrets.some((secret) => secret !== mask && secret !== null && secret !== '');
  } catch {
    return true;
  }
}
