// A small server that speaks as much of S3 as the store needs, on loopback, with objects in memory.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenOnLoopback } from './mcpServer.ts';

type After = Parameters<typeof listenOnLoopback>[0];

export interface S3Server {
  readonly url: string;
  /** By bucket and key. */
  readonly objects: Map<string, Buffer>;
  /** While it is set, every request gets this answer. */
  failWith: { readonly status: number; readonly code: string } | 'silence' | undefined;
  /** Requests that are not reads wait for this. */
  held: Promise<void> | undefined;
  /** After so many more PUT requests, it falls silent. */
  failAfterPuts: number | undefined;
  /** The requests so far, such as `PUT bucket/key`. */
  readonly requests: string[];
  /** Whether DELETE requests are refused. */
  refusesDeletes?: boolean;
}

const pageMax = 3;

function errorText(code: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>no</Message></Error>`;
}

/** Pages are short, so that every list has several. */
function listText(objects: Map<string, Buffer>, bucket: string, query: URLSearchParams): string {
  const prefix = `${bucket}/${query.get('prefix') ?? ''}`;
  const after = query.get('continuation-token') ?? '';
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted();
  const page = keys.slice(0, Math.min(pageMax, Number(query.get('max-keys') ?? pageMax)));
  const contents = page.map((key) => `<Contents><Key>${key.slice(bucket.length + 1)}</Key></Contents>`);
  const isTruncated = page.length < keys.length;
  const next = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  return `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`;
}

export async function startS3Server(t: After): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const requests: string[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://s3');
    const [, bucket = '', key = ''] = /^\/([^/]+)\/?(.*)$/.exec(decodeURIComponent(pathname)) ?? [];
    requests.push(`${request.method} ${bucket}/${key}`);
    const body = await buffer(request);
    if (request.method === 'PUT') await server.held;
    if (request.method === 'PUT' && server.failAfterPuts !== undefined && --server.failAfterPuts < 0)
      server.failWith = 'silence';
    if (server.failWith === 'silence') return;
    if (server.failWith !== undefined) {
      response.writeHead(server.failWith.status, { 'content-type': 'application/xml' });
      response.end(errorText(server.failWith.code));
      return;
    }
    const isKnown = /^AWS4-HMAC-SHA256 Credential=test-id\//.test(request.headers.authorization ?? '');
    if (!isKnown || (server.refusesDeletes && request.method === 'DELETE')) {
      response.writeHead(403, { 'content-type': 'application/xml' }).end(errorText('AccessDenied'));
      return;
    }
    const name = `${bucket}/${key}`;
    const found = objects.get(name);
    if (request.method === 'PUT') {
      objects.set(name, body);
      response.writeHead(200).end();
    } else if (request.method === 'DELETE') {
      objects.delete(name);
      response.writeHead(204).end();
    } else if (key === '') {
      response.writeHead(200, { 'content-type': 'application/xml' });
      response.end(listText(objects, bucket, searchParams));
    } else if (found === undefined)
      response.writeHead(404, { 'content-type': 'application/xml' }).end(errorText('NoSuchKey'));
    else response.writeHead(200, { 'content-length': found.length }).end(found);
  }

  const { url } = await listenOnLoopback(t, (request, response) => void answer(request, response));
  const server: S3Server = {
    url,
    objects,
    requests,
    failWith: undefined,
    failAfterPuts: undefined,
    held: undefined,
  };
  return server;
}

/** What the SDK finds in its environment. */
export function s3Variables({ url }: S3Server) {
  return {
    AWS_ENDPOINT_URL_S3: url,
    AWS_ACCESS_KEY_ID: 'test-id',
    AWS_SECRET_ACCESS_KEY: 'a-secret-key-of-the-test',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
}

/** Sets these variables for services inside the test, until it ends. */
export function useS3(t: After, server: S3Server): void {
  setVariables(t, s3Variables(server));
}

/** Sets variables of this process until the test ends. */
export function setVariables(t: After, variables: Readonly<Record<string, string>>): void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  t.after(async () => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  });
}
