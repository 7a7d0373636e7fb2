// Tests one remote MCP server: connects, lists its tools, closes. Error messages are our own, because those of the
// client quote the server's response.
import type { MCPClient } from '@ai-sdk/mcp';
import { AppError } from '../errors.ts';
import { OutgoingError, timedOut } from '../outgoing/errors.ts';
import type { OutgoingFetch } from '../outgoing/fetch.ts';
import { version } from '../process/version.ts';
import { toolNameMax, toolsMax } from './checkSchema.ts';
import type { RemoteServer } from './schema.ts';
import { mask } from './secrets.ts';

export type Transport = 'sse' | 'http';
export type Outcome =
  | { readonly status: 'ok'; readonly tools: string[] }
  | { readonly status: 'failed'; readonly reason: string };

interface Attempt {
  readonly server: RemoteServer;
  readonly transport: Transport;
  readonly fetch: OutgoingFetch;
  readonly timeoutMs: number;
}

/** Valid header values. For others, the client's error would contain the value. */
const headerText = /^[\t\x20-\x7e]*$/;

/** The response of a server that sends no messages on its own. */
const streamNotOffered = 405;

const statusWords: Readonly<Record<number, string>> = {
  404: 'there is no MCP server at this URL',
  405: 'this URL is not for this type of MCP server',
  429: 'it gets too many requests',
};

function describeStatus(status: number, hasKey: boolean): string {
  const forKey = status === 401 || status === 403;
  const words = forKey
    ? hasKey
      ? 'the api_key is not accepted'
      : 'it requires an api_key'
    : statusWords[status];
  return `It responded with ${status}${words === undefined ? '' : `: ${words}`}.`;
}

/**
 * The body, which ends quietly if the connection breaks, because the client would leave the stream's error unhandled.
 */
function endQuietly(
  body: ReadableStream<Uint8Array>,
  onBreak: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
      } catch (error) {
        onBreak(error);
      }
      controller.close();
    },
    cancel: (reason) => reader.cancel(reason).catch(() => {}),
  });
}

/** The fetch of one attempt. It is aborted with the attempt, and aborts the attempt if the connection fails. */
function createAttemptFetch({ transport, fetch }: Attempt, stop: AbortController) {
  const seen: { status?: number } = {};

  function fail(error: unknown): void {
    if (error instanceof OutgoingError || error instanceof AppError) stop.abort(error);
  }

  const attemptFetch: typeof globalThis.fetch = async (input, init = {}) => {
    const { method = 'GET', headers, body, signal } = init;
    if (transport === 'http' && method === 'GET') return new Response(null, { status: streamNotOffered });
    const request = {
      method,
      ...(headers === undefined ? {} : { headers }),
      ...(body == null ? {} : { body }),
      signal: signal == null ? stop.signal : AbortSignal.any([signal, stop.signal]),
    };
    // Closing a session is optional, so its result says nothing about the server.
    if (method === 'DELETE') return fetch(String(input), request);
    try {
      const response = await fetch(String(input), request);
      seen.status = response.status;
      return response.body === null ? response : new Response(endQuietly(response.body, fail), response);
    } catch (error) {
      fail(error);
      throw error;
    }
  };
  return { attemptFetch, seen };
}

type CreateClient = typeof import('@ai-sdk/mcp').createMCPClient;

async function listTools(
  client: MCPClient,
  { api_key }: RemoteServer,
  signal: AbortSignal,
): Promise<string[]> {
  if (client.initializeResult.capabilities.tools === undefined) return [];
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { params: { cursor } };
    const page = await client.listTools({ ...params, options: { signal } });
    for (const { name } of page.tools) names.push(name);
    cursor = page.nextCursor;
  } while (cursor !== undefined && names.length < toolsMax);
  // A server may repeat whatever it was sent.
  const shown = (name: string) => (api_key ? name.replaceAll(api_key, mask) : name);
  return names.slice(0, toolsMax).map((name) => shown(name).slice(0, toolNameMax).toWellFormed());
}

async function connect(
  createMCPClient: CreateClient,
  { server, transport }: Attempt,
  attemptFetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<string[]> {
  const client = await createMCPClient({
    transport: {
      type: transport,
      url: server.url,
      headers: server.api_key ? { Authorization: `Bearer ${server.api_key}` } : {},
      fetch: attemptFetch,
    },
    initializationOptions: { signal },
    clientName: 'parley',
    version,
    onUncaughtError: () => {},
  });
  try {
    return await listTools(client, server, signal);
  } finally {
    await client.close();
  }
}

/** Never throws because of the server, and leaves no connection open. Throws AppError for our own faults. */
export async function checkRemote(attempt: Attempt): Promise<Outcome> {
  const { server, timeoutMs } = attempt;
  if (!headerText.test(server.api_key ?? ''))
    return { status: 'failed', reason: 'Its api_key holds characters that cannot be sent.' };
  // Loaded at the first use, so that the service starts faster.
  const { createMCPClient } = await import('@ai-sdk/mcp');
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(timedOut(timeoutMs)), timeoutMs);
  const { attemptFetch, seen } = createAttemptFetch(attempt, stop);
  try {
    return { status: 'ok', tools: await connect(createMCPClient, attempt, attemptFetch, stop.signal) };
  } catch (error) {
    const { reason: cause } = stop.signal;
    if (cause instanceof AppError) throw cause;
    if (cause instanceof OutgoingError) return { status: 'failed', reason: cause.message };
    return { status: 'failed', reason: describeAnswer(error, seen.status, server) };
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

function describeAnswer(error: unknown, status: number | undefined, { api_key }: RemoteServer): string {
  if (status !== undefined && status >= 400) return describeStatus(status, Boolean(api_key));
  const { code } = error as { code?: unknown };
  return Number.isInteger(code) ? `It returned the MCP error ${code}.` : 'It does not speak MCP.';
}
