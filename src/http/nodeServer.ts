// The node:http server below Fastify: sets timeouts and answers malformed requests that never reach Fastify.
import {
  createServer,
  type IncomingMessage,
  METHODS,
  type RequestListener,
  type Server,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '../errors.ts';
import { arrivalMsMax } from './arrival.ts';
import { commonHeaders } from './commonHeaders.ts';
import { errorBody, jsonType, statuses } from './errors.ts';
import type { OpenAnswers } from './openAnswers.ts';

const headersTimeoutMs = 10_000;
const timeoutsCheckedMs = 2_000;
const keepAliveTimeoutMs = 65_000;
const refusalWaitsMs = 2_000;

const versions = new Set(['1.0', '1.1']);
const methods = new Set(METHODS);

const notHttp = new AppError('malformed_request', 'The request is not valid HTTP/1.1.');
const hostMissing = new AppError('malformed_request', 'The request has no Host header.');
const hostRepeated = new AppError('malformed_request', 'The request has more than one Host header.');
const notAProxy = new AppError('malformed_request', 'This server is not a proxy: CONNECT is not supported.');

interface NodeServerOptions {
  readonly answer: RequestListener;
  readonly openAnswers: OpenAnswers;
  readonly nextId: () => string;
  readonly upgradePaths: readonly string[];
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') count += 1;
  return count;
}

/** Checks what Node's parser lets through: HTTP/0.9 requests and repeated Host headers. */
function headFault({ httpVersion, method = '', rawHeaders }: IncomingMessage): AppError | undefined {
  if (!versions.has(httpVersion) || !methods.has(method)) return notHttp;
  const hosts = countHosts(rawHeaders);
  if (hosts > 1) return hostRepeated;
  return hosts === 0 && httpVersion === '1.1' ? hostMissing : undefined;
}

function parserFault(code: string | undefined): AppError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new AppError('headers_too_large', 'The headers are larger than 16 KiB.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new AppError('request_timeout', 'The request took too long to arrive.');
  return notHttp;
}

function renderRefusal(error: AppError, id: string) {
  const text = JSON.stringify(errorBody(error, id));
  const headers = {
    ...commonHeaders,
    'x-request-id': id,
    'content-type': jsonType,
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
  };
  return { status: statuses[error.code].status, headers, text };
}

/** Writes the response directly to the socket, because the request has no response object. */
function refuseOnSocket(socket: Socket, error: AppError, id: string): void {
  const { status, headers, text } = renderRefusal(error, id);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  // A client that neither reads nor closes must not keep the socket open.
  const late = setTimeout(() => socket.destroy(), refusalWaitsMs);
  socket.once('close', () => clearTimeout(late));
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`, () =>
    (socket as Socket).destroySoon(),
  );
}

export function createClientErrorHandler({
  openAnswers,
  nextId,
}: Pick<NodeServerOptions, 'openAnswers' | 'nextId'>) {
  return (thrown: Error & { code?: string }, socket: Socket): void => {
    // On such a connection the client would take the error for the response to an earlier request.
    if (thrown.code === 'ECONNRESET' || !socket.writable || openAnswers.isAwaitedOn(socket)) socket.destroy();
    else refuseOnSocket(socket, parserFault(thrown.code), nextId());
  };
}

export function createNodeServer({ answer, openAnswers, nextId, upgradePaths }: NodeServerOptions): Server {
  const listener: RequestListener = (request, response) => {
    const fault = headFault(request);
    if (fault === undefined) return void answer(request, response);
    const { status, headers, text } = renderRefusal(fault, nextId());
    response.writeHead(status, headers).end(text);
  };

  const server = createServer(
    {
      // Most requests have less time: see `boundArrival`.
      requestTimeout: arrivalMsMax,
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: timeoutsCheckedMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      // Checked in `headFault` instead, because Node's own response has no body.
      requireHostHeader: false,
      // Other requests with an Upgrade header are answered as if they had none.
      shouldUpgradeCallback: ({ url = '' }) => upgradePaths.some((path) => url.startsWith(path)),
    },
    listener,
  );
  server.on('connect', ({ socket }) => {
    if (openAnswers.isAwaitedOn(socket)) socket.destroy();
    else refuseOnSocket(socket, notAProxy, nextId());
  });
  // Expectations other than 100-continue are ignored; Node would answer 417 without a body.
  server.on('checkExpectation', listener);
  return server;
}
