// Offers the tools of the configured MCP servers to the model. A server that fails does not affect the others.
import type { McpServer } from '@agentclientprotocol/sdk';
import type { MCPClient } from '@ai-sdk/mcp';
import { jsonOf, textOf } from '../../text/foreignText.ts';
import { identity } from './identity.ts';
import { decodeImage } from './tools/images.ts';
import type { Tool, ToolImage, ToolResult } from './tools/tool.ts';

const startMs = 30_000;
const callMs = 10 * 60_000;
const toolsMax = 200;
/** The limit of all servers together, because providers accept at most 128 tools. */
const allToolsMax = 100;
const descriptionCharsMax = 4_000;
const pagesMax = 20;
const resultCharsMax = 60_000;
/** The longest tool name that all providers accept. */
const nameCharsMax = 64;

export interface McpServers {
  readonly tools: readonly Tool[];
  /** A sentence for each server that cannot be used. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

interface ServersOptions {
  readonly servers: readonly McpServer[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

type Definition = Awaited<ReturnType<MCPClient['listTools']>>['tools'][number];
type CallResult = Awaited<ReturnType<MCPClient['callTool']>>;

function recordOf(
  pairs: readonly { readonly name: string; readonly value: string }[],
): Record<string, string> {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
}

async function transportOf(server: McpServer, { cwd, env }: ServersOptions) {
  if ('url' in server && (server.type === 'http' || server.type === 'sse'))
    return { type: server.type, url: server.url, headers: recordOf(server.headers) };
  if (!('command' in server)) throw new Error('its transport is unknown.');
  const { StdioMCPTransport } = await import('@ai-sdk/mcp/mcp-stdio');
  const { command, args } = server;
  const inherited = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value ?? '']));
  return new StdioMCPTransport({
    command,
    args,
    cwd,
    env: { ...inherited, ...recordOf(server.env) },
    stderr: 'ignore',
  });
}

async function connect(server: McpServer, options: ServersOptions): Promise<MCPClient> {
  const { createMCPClient } = await import('@ai-sdk/mcp');
  return createMCPClient({
    transport: await transportOf(server, options),
    // Older servers require the initialization first.
    protocolVersionDiscovery: false,
    initializationOptions: { timeout: startMs },
    clientName: identity.name,
    version: identity.version,
    onUncaughtError: () => {
      // The affected call has failed, too.
    },
  });
}

async function listDefinitions(client: MCPClient): Promise<Definition[]> {
  const all: Definition[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pagesMax && all.length < toolsMax; page++) {
    const params = cursor === undefined ? {} : { params: { cursor } };
    const { tools, nextCursor } = await client.listTools({ ...params, options: { timeout: startMs } });
    all.push(...tools);
    if (nextCursor === undefined) break;
    cursor = nextCursor;
  }
  return all.slice(0, toolsMax);
}

function nameOf(server: string, tool: string, taken: Set<string>): string {
  const plain = (text: string) => text.replaceAll(/[^A-Za-z0-9-]+/g, '_');
  const name = `mcp__${plain(server)}__${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`.slice(0, nameCharsMax);
  let unique = name;
  for (let i = 2; taken.has(unique); i++) unique = `${name.slice(0, nameCharsMax - 4)}_${i}`;
  taken.add(unique);
  return unique;
}

interface ContentPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

function partText(part: ContentPart): string {
  if (part.type === 'text') return textOf(part['text']);
  const { resource } = part as { resource?: { text?: unknown; uri?: unknown } | null };
  if (resource != null)
    return resource.text == null ? `[a resource: ${textOf(resource.uri)}]` : textOf(resource.text);
  return part.type === 'image' ? '[an image]' : jsonOf(part);
}

/** Returns the first image that models accept. */
function imageOf(parts: readonly ContentPart[]): ToolImage | undefined {
  for (const { type, data } of parts) {
    const image = type === 'image' && typeof data === 'string' ? decodeImage(data) : undefined;
    if (image !== undefined) return image;
  }
  return undefined;
}

/** Must be well-formed Unicode: providers reject lone surrogates, and the text is part of every later request. */
function cut(text: string): string {
  if (text.length <= resultCharsMax) return text.toWellFormed();
  const start = text.slice(0, resultCharsMax).toWellFormed();
  return `${start}\n… ${text.length - resultCharsMax} more characters are left out.`;
}

function toResult(result: CallResult): ToolResult {
  const { content, isError, structuredContent } = result as {
    content?: ContentPart[];
    isError?: boolean;
    structuredContent?: unknown;
  };
  const parts = content ?? [];
  const image = imageOf(parts);
  const contentText = parts.map(partText).join('\n');
  const text =
    contentText === '' && structuredContent !== undefined ? jsonOf(structuredContent) : contentText;
  return {
    text: cut(text === '' ? '(no output)' : text),
    ...(isError === true ? { failed: true } : {}),
    ...(image === undefined ? {} : { image }),
  };
}

function toTool(client: MCPClient, { name, description, inputSchema }: Definition, ownName: string): Tool {
  return {
    name: ownName,
    description: (description ?? '').slice(0, descriptionCharsMax),
    // Some providers refuse an object without properties.
    input: { ...inputSchema, type: 'object', properties: inputSchema.properties ?? {} },
    // The server validates the input.
    check: () => undefined,
    kind: 'other',
    title: () => ownName,
    run: async (input, { signal }) => {
      try {
        const options = { signal, timeout: callMs };
        return toResult(await client.callTool({ name, arguments: input, options }));
      } catch (error) {
        return { text: `The MCP server failed: ${(error as Error).message}`, failed: true };
      }
    },
  };
}

/** Never rejects. */
export async function openMcpServers(options: ServersOptions): Promise<McpServers> {
  const taken = new Set<string>();
  const clients: MCPClient[] = [];
  const faults: string[] = [];
  const opened = await Promise.all(
    options.servers.map(async (server): Promise<Tool[]> => {
      try {
        const client = await connect(server, options);
        clients.push(client);
        const definitions = await listDefinitions(client);
        return definitions.map((one) => toTool(client, one, nameOf(server.name, one.name, taken)));
      } catch (error) {
        faults.push(`The MCP server ${server.name} cannot be used: ${(error as Error).message}`);
        return [];
      }
    }),
  );
  const tools = opened.flat();
  if (tools.length > allToolsMax)
    faults.push(
      `The MCP servers have ${tools.length} tools, of which the first ${allToolsMax} can be used: ${tools[allToolsMax]?.name} and those after it are left out.`,
    );
  return {
    tools: tools.slice(0, allToolsMax),
    faults,
    close: async () => {
      await Promise.allSettled(clients.map((client) => client.close()));
    },
  };
}
