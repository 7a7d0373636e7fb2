// An MCP server of our own that agents reach through the bridge: MCP over HTTP, without sessions or streams. The user's
// keys that its tools need stay outside of the sandbox.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { version } from '../process/version.ts';
import { objectOf } from '../text/foreignJson.ts';
import { mib } from '../validation/schema.ts';
import type { Bodies } from './bodies.ts';
import { type BridgeHandler, refuse } from './bridge.ts';

/** The name that agents see, and the first segment of its path. */
export const ownToolsName = 'parley';

export interface ToolAnswer {
  readonly text: string;
  /** Marks the result as an error, whose text the agent reads. */
  readonly failed?: boolean;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of the input. The tool validates its input itself. */
  readonly inputSchema: object;
  /** Aborted if nobody waits for the result any more. */
  call(given: unknown, signal: AbortSignal): Promise<ToolAnswer>;
}

interface McpServerOptions {
  readonly name: string;
  readonly tools: readonly Tool[];
  readonly bodies: Bodies;
  /** A monotonic clock in milliseconds; tests use another one. */
  readonly now?: () => number;
}

const requestBytesMax = mib;
const callsAtOnceMax = 8;
/** Each call may send requests with the user's access token, so their rate is limited. */
const callsPerMinuteMax = 60;
const minuteMs = 60_000;
/** Protocol versions with this transport. The first is offered to clients that ask for another. */
const protocolVersions = ['2025-06-18', '2025-11-25', '2025-03-26'];

const codes = { parse: -32_700, request: -32_600, method: -32_601, params: -32_602, internal: -32_603 };

type Id = string | number | null;
type Outcome =
  | { readonly result: object }
  | { readonly error: { readonly code: number; readonly message: string } };

interface Message {
  readonly id?: Id;
  readonly method?: unknown;
  readonly params?: unknown;
}

const fault = (code: number, message: string): Outcome => ({ error: { code, message } });

function send(response: ServerResponse, status: number, id: Id, outcome: Outcome): void {
  const text = JSON.stringify({ jsonrpc: '2.0', id, ...outcome });
  response.writeHead(status, { 'content-type': 'application/json' }).end(text);
}

function readMessage(body: Buffer): Message | undefined {
  try {
    return JSON.parse(body.toString()) as Message;
  } catch {
    return undefined;
  }
}

export function createMcpServer(options: McpServerOptions): BridgeHandler {
  const { name, tools, bodies, now = () => performance.now() } = options;
  let underWay = 0;
  let minute = { since: now(), calls: 0 };

  /** Why no further call is accepted now. */
  function findOverload(): string | undefined {
    if (underWay >= callsAtOnceMax) return 'Too many calls are in progress; try again.';
    if (now() - minute.since >= minuteMs) minute = { since: now(), calls: 0 };
    return minute.calls >= callsPerMinuteMax
      ? `There were ${callsPerMinuteMax} calls within a minute; wait, and try again.`
      : undefined;
  }

  async function callTool(params: unknown, signal: AbortSignal): Promise<Outcome> {
    const { name: wanted, arguments: given = {} } = objectOf(params);
    const tool = tools.find((one) => one.name === wanted);
    if (tool === undefined) return fault(codes.params, 'There is no tool of this name.');
    const refusal = findOverload();
    if (refusal !== undefined) return fault(codes.internal, refusal);
    underWay += 1;
    minute.calls += 1;
    try {
      const { text, failed = false } = await tool.call(given, signal);
      return { result: { content: [{ type: 'text', text }], isError: failed } };
    } catch {
      return fault(codes.internal, 'The tool failed.');
    } finally {
      underWay -= 1;
    }
  }

  function initialize(params: unknown): Outcome {
    const { protocolVersion: wanted } = objectOf(params);
    const known = protocolVersions.find((one) => one === wanted) ?? protocolVersions[0];
    return {
      result: { protocolVersion: known, capabilities: { tools: {} }, serverInfo: { name, version } },
    };
  }

  const methods: Readonly<
    Record<string, (params: unknown, signal: AbortSignal) => Outcome | Promise<Outcome>>
  > = {
    initialize,
    ping: () => ({ result: {} }),
    'tools/list': () => ({
      result: { tools: tools.map(({ call: _, ...described }) => described) },
    }),
    'tools/call': callTool,
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodies.read(request, response, requestBytesMax);
    if ('status' in body) return refuse(response, body.status, body.sentence);
    const message = readMessage(body);
    if (message === undefined) return send(response, 400, null, fault(codes.parse, 'This is no JSON.'));
    const { id, method, params } = objectOf(message) as Message;
    if (Array.isArray(message) || (method !== undefined && typeof method !== 'string'))
      return send(response, 400, null, fault(codes.request, 'This is no request of JSON-RPC.'));
    // Notifications, and responses to requests that were never sent.
    if (id === undefined || method === undefined) return void response.writeHead(202).end();
    const known = Object.hasOwn(methods, method as string) ? methods[method as string] : undefined;
    if (known === undefined) return send(response, 200, id, fault(codes.method, 'There is no such method.'));
    const left = new AbortController();
    response.once('close', () => left.abort());
    send(response, 200, id, await known(params, left.signal));
  }

  return (request, response, rest) => {
    if (rest !== '' && rest !== '/') return refuse(response, 404, 'There is nothing here.');
    if (request.method === 'POST') return answer(request, response);
    response.setHeader('allow', 'POST');
    refuse(response, 405, 'Messages are sent with POST; there is no stream to listen to.');
  };
}
