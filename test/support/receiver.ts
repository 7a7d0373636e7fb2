// A server that receives webhooks. It keeps them and responds as configured.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Received {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of any shape
  readonly body: any;
}

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Sets the response: a status, now or later. */
  answer(how: (message: Received) => number | Promise<number>): void;
  stop(): Promise<void>;
}

export async function startReceiver(t: { after(fn: () => Promise<void>): void }): Promise<Receiver> {
  const received: Received[] = [];
  let how: (message: Received) => number | Promise<number> = () => 204;
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const message = {
      id: String(request.headers['webhook-id']),
      headers: request.headers,
      text: body,
      body: request.headers['content-type'] === 'application/json' ? JSON.parse(body) : undefined,
    };
    received.push(message);
    response.writeHead(await how(message)).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    server.closeAllConnections();
    // It may be closed already.
    await new Promise((done) => server.close(done));
  };
  t.after(stop);
  return {
    url: `http://127.0.0.1:${port}/hook?token=in-the-url`,
    received,
    answer: (next) => {
      how = next;
    },
    stop,
  };
}
