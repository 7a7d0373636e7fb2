// The configuration of MCP servers, with the short forms that existing clients send, shared by settings and
// conversations. `normaliseMcp` converts every form to one.
import Type from 'typebox';
import { checked, kib, nullableText, orNull, text } from '../validation/schema.ts';
import { urlFault } from '../validation/url.ts';
import { splitWords } from './words.ts';

const serversMax = 50;
const envEntriesMax = 100;
const argsMax = 100;
const textBytesMax = kib;
const envValueBytesMax = 4 * kib;
const timeoutMaxS = 3_600;
const envName = '^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,127}$';

function argsFault(value: string): string | undefined {
  const words = splitWords(value);
  if (words === undefined) return 'has a quote that is not closed';
  if (words.length > argsMax) return `must hold at most ${argsMax} words`;
  return words.some((word) => Buffer.byteLength(word) > textBytesMax)
    ? `must hold words of at most ${textBytesMax} bytes`
    : undefined;
}

function envPairs(value: string): [string, string][] {
  return value
    .split(',')
    .filter((pair) => pair.trim() !== '')
    .map((pair) => {
      const at = pair.indexOf('=');
      return at < 0 ? ['', pair] : [pair.slice(0, at).trim(), pair.slice(at + 1)];
    });
}

function envFault(value: string): string | undefined {
  const pairs = envPairs(value);
  const names = new RegExp(envName);
  if (pairs.some(([name]) => !names.test(name))) return 'must be written as NAME=value,OTHER=value';
  if (pairs.length > envEntriesMax) return `must have at most ${envEntriesMax} entries`;
  return pairs.some(([, value]) => Buffer.byteLength(value) > envValueBytesMax)
    ? `must have values of at most ${envValueBytesMax} bytes`
    : undefined;
}

const EnvName = text({
  bytesMax: 128,
  pattern: envName,
  patternText: 'have a name of letters, digits and _ that does not begin with a digit',
});

const Url = checked(text({ bytesMax: textBytesMax, description: 'http, https, ws or wss.' }), (value) =>
  urlFault(value),
);
const ApiKey = nullableText({ bytesMax: 4 * kib, description: 'Stored encrypted and never shown again.' });

const timeout = orNull(Type.Integer({ minimum: 1, maximum: timeoutMaxS, description: 'Seconds.' }));

const SseServer = Type.Union([
  Url,
  Type.Object({ url: Url, api_key: Type.Optional(ApiKey) }, { additionalProperties: false }),
]);

const ShttpServer = Type.Union([
  Url,
  Type.Object(
    { url: Url, api_key: Type.Optional(ApiKey), timeout: Type.Optional(timeout) },
    { additionalProperties: false },
  ),
]);

const StdioServer = Type.Object(
  {
    name: text({
      bytesMax: 128,
      pattern: '^[A-Za-z0-9_-]+$',
      patternText: 'consist of letters, digits, _ and -',
    }),
    command: text({
      bytesMax: textBytesMax,
      pattern: '^\\S+$',
      patternText: 'be one word without spaces; what follows it goes into args',
      description: 'A single word without spaces.',
    }),
    args: Type.Optional(
      Type.Union([
        orNull(Type.Array(text({ bytesMax: textBytesMax }), { maxItems: argsMax })),
        checked(text({ bytesMax: 16 * kib, description: 'A shell-quoted command line.' }), argsFault),
      ]),
    ),
    env: Type.Optional(
      Type.Union([
        Type.Unsafe<Record<string, string> | null>({
          type: ['object', 'null'],
          propertyNames: EnvName,
          additionalProperties: text({ bytesMax: envValueBytesMax }),
          maxProperties: envEntriesMax,
          description:
            'Names consist of letters, digits and _, and do not begin with a digit. Values are stored encrypted and never shown again.',
        }),
        checked(text({ bytesMax: 64 * kib, description: 'NAME=value,OTHER=value' }), envFault),
      ]),
    ),
  },
  { additionalProperties: false },
);

function serverList<Schema extends Type.TSchema>(server: Schema) {
  return orNull(Type.Array(server, { maxItems: serversMax }));
}

const McpObject = Type.Object(
  {
    sse_servers: Type.Optional(serverList(SseServer)),
    stdio_servers: Type.Optional(serverList(StdioServer)),
    shttp_servers: Type.Optional(serverList(ShttpServer)),
  },
  { additionalProperties: false },
);
type McpObject = Type.Static<typeof McpObject>;

/** What is wrong with the lists together; undefined if they are valid. */
export function mcpFault(value: McpObject | McpConfig): string | undefined {
  const lists = [value.sse_servers ?? [], value.stdio_servers ?? [], value.shttp_servers ?? []];
  if (lists.flat().length > serversMax) return `must hold at most ${serversMax} servers`;
  const names = (value.stdio_servers ?? []).map(({ name }) => name);
  return new Set(names).size < names.length
    ? 'must not contain two stdio_servers with the same name'
    : undefined;
}

/** The configuration or null, for requests. */
export const NullableMcpConfig = Type.Refine(
  Type.Unsafe<McpObject | null>({
    ...McpObject,
    type: ['object', 'null'],
    description: 'MCP servers. A bare URL stands for {url}.',
  }),
  (value) => value === null || mcpFault(value) === undefined,
  (value) => (value === null ? '' : (mcpFault(value) ?? '')),
) as unknown as Type.TUnsafe<McpObject | null>;

const ShownKey = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  description: 'A mask if an API key is stored, otherwise null.',
});
const shownRemote = { url: Type.String(), api_key: ShownKey };

/** The configuration as GET /api/settings returns it: with every field and without secrets. */
export const ShownMcpConfig = Type.Object(
  {
    sse_servers: Type.Array(Type.Object(shownRemote)),
    stdio_servers: Type.Array(
      Type.Object({
        name: Type.String(),
        command: Type.String(),
        args: Type.Array(Type.String()),
        env: Type.Unsafe<Record<string, string>>({
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'Each value is a mask.',
        }),
      }),
    ),
    shttp_servers: Type.Array(
      Type.Object({
        ...shownRemote,
        timeout: Type.Optional(Type.Integer({ description: 'The timeout in seconds, if one is set.' })),
      }),
    ),
  },
  { description: 'MCP servers; null if none were ever configured.' },
);
export type ShownMcpConfig = Type.Static<typeof ShownMcpConfig>;

export interface RemoteServer {
  readonly url: string;
  readonly api_key?: string;
  readonly timeout?: number;
}

export interface StdioServer {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Converts a configuration to its stored form: three lists, without short forms or empty fields. */
export interface McpConfig {
  readonly sse_servers: readonly RemoteServer[];
  readonly stdio_servers: readonly StdioServer[];
  readonly shttp_servers: readonly RemoteServer[];
}

type SentRemote = string | { url: string; api_key?: string | null; timeout?: number | null };

function normaliseRemote(sent: SentRemote): RemoteServer {
  if (typeof sent === 'string') return { url: sent };
  const { url, api_key, timeout } = sent;
  return {
    url,
    ...(api_key == null || api_key === '' ? {} : { api_key }),
    ...(timeout == null ? {} : { timeout }),
  };
}

function normaliseStdio({ name, command, args, env }: Type.Static<typeof StdioServer>): StdioServer {
  const words = typeof args === 'string' ? splitWords(args) : args;
  const pairs = typeof env === 'string' ? envPairs(env) : Object.entries(env ?? {});
  return {
    name,
    command,
    ...(words == null || words.length === 0 ? {} : { args: words }),
    ...(pairs.length === 0 ? {} : { env: Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1))) }),
  };
}

export function normaliseMcp(sent: McpObject): McpConfig {
  return {
    sse_servers: (sent.sse_servers ?? []).map(normaliseRemote),
    stdio_servers: (sent.stdio_servers ?? []).map(normaliseStdio),
    shttp_servers: (sent.shttp_servers ?? []).map(normaliseRemote),
  };
}

/** Existing clients read these fields without checking that they exist. */
export function showMcp({ sse_servers, stdio_servers, shttp_servers }: McpConfig): ShownMcpConfig {
  return {
    sse_servers: sse_servers.map(({ url, api_key = null }) => ({ url, api_key })),
    stdio_servers: stdio_servers.map(({ name, command, args = [], env = {} }) => ({
      name,
      command,
      args: [...args],
      env,
    })),
    shttp_servers: shttp_servers.map(({ url, api_key = null, timeout }) => ({
      url,
      api_key,
      ...(timeout === undefined ? {} : { timeout }),
    })),
  };
}
