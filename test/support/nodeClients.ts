// HTTP clients that run in the process of the test: node:http, fetch, undici and axios.
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { request as undiciRequest } from 'undici';
import { answerMsMax, type Client, type Received, type Sent } from './clientMatrix.ts';

type Send = (sent: Sent, signal: AbortSignal) => Promise<Received>;

function oneByOne(send: Send): Client['sendAll'] {
  return async (all) => {
    const received: Received[] = [];
    for (const sent of all) {
      const answer = send(sent, AbortSignal.timeout(answerMsMax));
      // A request that fails must not hide the others.
      received.push(await answer.catch((error: Error) => ({ status: 0, text: String(error) })));
    }
    return received;
  };
}

/** In one piece with a length, or in chunks. */
function bodyOf({ body, chunked }: Sent): string | Readable | null {
  if (body === null || !chunked) return body;
  return Readable.from(body === '' ? [] : [Buffer.from(body)]);
}

const isBodyless = ({ method }: Sent) => method === 'GET' || method === 'HEAD';
const expects = ({ headers }: Sent) => headers['expect'] !== undefined;

async function sendByHttp(
  { url, method, headers, body, chunked }: Sent,
  signal: AbortSignal,
): Promise<Received> {
  const length = body === null || chunked ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const encoding = body !== null && chunked ? { 'transfer-encoding': 'chunked' } : {};
  const request = httpRequest(url, { method, headers: { ...headers, ...length, ...encoding }, signal });
  const answered = once(request, 'response') as Promise<[IncomingMessage]>;
  // Where the service has refused and closed, the rest of a large body cannot be written.
  answered.then(() => request.on('error', () => {})).catch(() => {});
  request.end(body ?? undefined);
  const [response] = await answered;
  return { status: response.statusCode ?? 0, text: await text(response) };
}

async function sendByFetch(sent: Sent, signal: AbortSignal): Promise<Received> {
  const { url, method, headers } = sent;
  const body = bodyOf(sent) as RequestInit['body'];
  const response = await fetch(url, { method, headers, body, signal, duplex: 'half' } as RequestInit);
  return { status: response.status, text: await response.text() };
}

async function sendByUndici(sent: Sent, signal: AbortSignal): Promise<Received> {
  const { url, method, headers } = sent;
  const response = await undiciRequest(url, { method, headers, body: bodyOf(sent), signal });
  return { status: response.statusCode, text: await response.body.text() };
}

export const nodeHttp: Client = { name: 'node:http', can: () => true, sendAll: oneByOne(sendByHttp) };

export const nodeFetch: Client = {
  name: 'fetch',
  can: (sent) => !expects(sent) && !(isBodyless(sent) && sent.body !== null),
  sendAll: oneByOne(sendByFetch),
};

export const undici: Client = {
  name: 'undici',
  can: (sent) => !expects(sent),
  sendAll: oneByOne(sendByUndici),
};

/** Loaded where it is tried. */
export async function loadAxios(): Promise<Client> {
  const { default: axios } = await import('axios');
  return {
    name: 'axios',
    can: () => true,
    sendAll: oneByOne(async (sent, signal) => {
      const { url, method } = sent;
      // Node would send the body of a GET in chunks only where it is told to.
      const headers = { ...sent.headers, ...(sent.chunked ? { 'transfer-encoding': 'chunked' } : {}) };
      const response = await axios.request<string>({
        url,
        method,
        headers,
        data: bodyOf(sent) ?? undefined,
        signal,
        validateStatus: () => true,
        responseType: 'text',
        transformRequest: (data) => data,
        transformResponse: (raw) => raw,
        maxBodyLength: Number.POSITIVE_INFINITY,
      });
      return { status: response.status, text: response.data ?? '' };
    }),
  };
}
