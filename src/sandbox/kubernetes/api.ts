// Requests to the API server of the cluster.

import http, { type IncomingMessage } from 'node:http';
import https, { type RequestOptions } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';

const requestMsMax = 15_000;
const bodyBytesMax = 16 * 1_024 * 1_024;
const messageCharsMax = 400;
/** Connections for calls. Further calls wait for one that ends. */
export const callsMax = 64;
/** A pod that starts is watched for up to two minutes, on a connection that calls must not have to wait for. */
const watchesMax = 1_024;
/** An API server that is started again takes some seconds. */
const readyMsMax = 60_000;
const readyAgainMs = 500;
/** Quotas, Pod Security and namespaces that are being deleted are refused with the same status. */
const rbacPattern = / cannot \w+ resource /;

/** The API server has refused a request, or cannot be reached. The message is for operators and users. */
export class ClusterError extends Error {
  /** Undefined if there was no answer. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message.replace(/\p{Cc}/gu, ' ').slice(0, messageCharsMax));
    this.status = status;
  }
}

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
}

export interface Api {
  readonly cluster: Cluster;
  /** Throws ClusterError. */
  call<Answer>(request: ApiRequest): Promise<Answer>;
  /** The objects of a watch, until it ends. Throws ClusterError. */
  watch<Watched>(request: ApiRequest): AsyncGenerator<Watched>;
  close(): void;
}

/** The options for TLS and authentication of requests and WebSockets. */
export function credentialsOf({ ca, certificate, token }: Cluster) {
  const bearer = token();
  return {
    ...(ca === undefined ? {} : { ca }),
    ...certificate,
    headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
  };
}

/** The error for a response that is not 2xx, with the message of the API server. */
export function refusalOf(status: number, text: string): ClusterError {
  let message = '';
  try {
    message = String((JSON.parse(text) as { message?: unknown }).message ?? '');
  } catch {
    // A kubelet or a proxy in between answers with a text.
    message = text.trim();
  }
  if (status === 401)
    return new ClusterError(
      'the cluster does not accept the credentials of this process; check its service account or KUBECONFIG',
      status,
    );
  const reason = message === '' ? `the API server answered ${status}` : message;
  return new ClusterError(
    rbacPattern.test(message) ? `this process lacks a permission in the cluster: ${reason}` : reason,
    status,
  );
}

export async function readText(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > bodyBytesMax) throw new ClusterError('the response of the API server is too large');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of response.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > bodyBytesMax) throw new ClusterError('the response of the API server is too large');
    yield* lines.filter((line) => line !== '');
  }
}

export function createApi(cluster: Cluster): Api {
  // `kubectl proxy` speaks plain HTTP.
  const { Agent, request } = cluster.server.protocol === 'http:' ? http : https;
  const callAgent = new Agent({ keepAlive: true, maxSockets: callsMax });
  const watchAgent = new Agent({ maxSockets: watchesMax });

  function send(asked: ApiRequest, timeout: number | undefined): Promise<IncomingMessage> {
    const { method = 'GET', path, query = {}, body, signal } = asked;
    const url = new URL(path, cluster.server);
    url.search = new URLSearchParams(query).toString();
    const { headers, ...tls } = credentialsOf(cluster);
    const text = body && JSON.stringify(body);
    const options: RequestOptions = {
      method,
      // Only watches have no time limit.
      agent: timeout === undefined ? watchAgent : callAgent,
      ...tls,
      headers: {
        ...headers,
        accept: 'application/json',
        // Node would send the body of a DELETE without its length.
        ...(text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      },
      ...(timeout === undefined ? {} : { timeout }),
      ...(signal === undefined ? {} : { signal }),
    };
    return new Promise((resolve, reject) => {
      const sent = request(url, options, resolve);
      sent.once('timeout', () => sent.destroy(new Error('it did not answer in time')));
      sent.once('error', ({ message }) =>
        reject(new ClusterError(`the API server of the cluster cannot be reached: ${message}`)),
      );
      sent.end(text);
    });
  }

  async function open(asked: ApiRequest, timeout?: number): Promise<IncomingMessage> {
    const response = await send(asked, timeout);
    const { statusCode: status = 0 } = response;
    if (status < 200 || status > 299) throw refusalOf(status, await readText(response).catch(() => ''));
    return response;
  }

  return {
    cluster,
    call: async <Answer>(asked: ApiRequest) =>
      JSON.parse(await readText(await open(asked, requestMsMax))) as Answer,
    watch: async function* <Watched>(asked: ApiRequest) {
      const response = await open({ ...asked, query: { ...asked.query, watch: 'true' } });
      try {
        for await (const line of linesOf(response)) yield JSON.parse(line) as Watched;
      } finally {
        response.destroy();
      }
    },
    close: () => {
      callAgent.destroy();
      watchAgent.destroy();
    },
  };
}

/**
 * Waits for an API server that is away or starting, as long as somebody wants that. What is asked afterwards fails with the
 * reason if it stays away.
 */
export async function untilReady(api: Api, isWanted: () => boolean, msMax = readyMsMax): Promise<void> {
  const over = performance.now() + msMax;
  while (isWanted() && performance.now() < over) {
    const isReady = await api.call({ path: '/readyz' }).then(
      () => true,
      // The answer of one that is ready is no JSON, and some may not ask for it.
      (error: unknown) => !(error instanceof ClusterError) || (error.status ?? 500) < 500,
    );
    if (isReady) return;
    await wait(readyAgainMs);
  }
}
