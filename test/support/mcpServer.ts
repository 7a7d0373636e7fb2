// Small MCP servers on loopback, in each form of the protocol over HTTP, and servers that only pretend to be one.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface After {
  after(fn: () => Promise<void>): void;
}

export interface Listening {
  readonly url: string;
  /** The requests in order. */
  readonly requests: readonly IncomingMessage[];
  openConnections(): Promise<number>;
}

/** Listens on its own port until the test ends. */
export async function listenOnLoopback(t: After, handler: RequestListener): Promise<Listening> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    openConnections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
  };
}

export type McpForm = 'json' | 'stream' | 'sse';

export interface McpServerOptions {
  readonly form: McpForm;
  readonly tools?: readonly string[];
  /** Names on one page of the list. */
  readonly pageSize?: number;
  /** Responds with 401 without this bearer token. */
  readonly key?: string;
  /** Without it, the server reports no tools. */
  readonly offersTools?: boolean;
  /** Starts the response to the end of a session and never finishes it. */
  readonly lingers?: boolean;
}

export interface McpMessage {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly cursor?: string;
    /** Of the tool to call. */
    readonly name?: string;
    readonly arguments?: unknown;
  };
}

export interface McpServer extends Listening {
  /** The authenticated messages of clients, in order. */
  readonly messages: readonly McpMessage[];
}

async function readMessage(request: IncomingMessage): Promise<McpMessage> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as McpMessage;
}

/** The result of calls of that tool. */
export function toolAnswer(name: string | undefined): string {
  return `an answer of ${name}`;
}

function answer({ id, method, params }: McpMessage, options: McpServerOptions): object | undefined {
  const { tools = ['search', 'fetch'], pageSize = tools.length, offersTools = true } = options;
  const from = Number(params?.cursor ?? 0);
  const more = from + pageSize < tools.length ? { nextCursor: String(from + pageSize) } : {};
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: offersTools ? { tools: {} } : {},
      serverInfo: { name: 'test', version: '1' },
    },
    'tools/list': {
      tools: tools.slice(from, from + pageSize).map((name) => ({ name, inputSchema: { type: 'object' } })),
      ...more,
    },
    'tools/call': { content: [{ type: 'text', text: toolAnswer(params?.name) }] },
  };
  if (id === undefined) return undefined;
  const result = results[method];
  const outcome = result === undefined ? { error: { code: -32601, message: 'no such method' } } : { result };
  return { jsonrpc: '2.0', id, ...outcome };
}

function sendEvent(response: ServerResponse, event: string, data: string): void {
  response.write(`event: ${event}\ndata: ${data}\n\n`);
}

/** Starts a server of the given form. Its URL is the one for clients. */
export async function startMcpServer(t: After, options: McpServerOptions): Promise<McpServer> {
  let stream: ServerResponse | undefined;
  const messages: McpMessage[] = [];

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (options.key !== undefined && request.headers.authorization !== `Bearer ${options.key}`) {
      response.writeHead(401).end(`no entry for ${request.headers.authorization}`);
    } else if (request.method === 'GET' && options.form === 'sse') {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
      sendEvent(response, 'endpoint', '/messages');
    } else if (request.method === 'POST') {
      const message = await readMessage(request);
      messages.push(message);
      const reply = answer(message, options);
      if (reply === undefined) response.writeHead(202).end();
      else if (options.form === 'json')
        response
          .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
          .end(JSON.stringify(reply));
      else if (options.form === 'stream') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        sendEvent(response, 'message', JSON.stringify(reply));
        response.end();
      } else {
        response.writeHead(202).end();
        if (stream !== undefined) sendEvent(stream, 'message', JSON.stringify(reply));
      }
    } else if (request.method === 'DELETE' && options.lingers) response.writeHead(200).write(' ');
    else response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
  }

  const listening = await listenOnLoopback(t, (request, response) => void handle(request, response));
  return { ...listening, messages, url: `${listening.url}/${options.form === 'sse' ? 'sse' : 'mcp'}` };
}

/** Servers that respond but are not MCP servers. */
export const pretenders = {
  rubbish: (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>RUBBISH</p>');
  },
  brokenJson: (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc": RUBBISH');
  },
  hanging: () => {},
  /** Starts a response and never ends it. */
  stalling: (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': RUBBISH\n\n');
  },
  redirecting: (_, response) => {
    response.writeHead(307, { location: 'http://127.0.0.1:1/RUBBISH' }).end();
  },
  failing: (_, response) => {
    response.writeHead(500).end('RUBBISH');
  },
  closing: (request) => {
    request.socket.destroy();
  },
  flooding: (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const line = Buffer.from(`: ${'RUBBISH '.repeat(8_192)}\n\n`);
    const flood = () => {
      while (!response.destroyed && response.write(line));
    };
    response.on('drain', flood);
    flood();
  },
} satisfies Readonly<Record<string, RequestListener>>;
