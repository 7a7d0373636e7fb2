// The fast lane of a small JSON body. It knows the good request only: a body with a fault goes the usual way, read
// already, and is answered there.
import type { IncomingHttpHeaders } from 'node:http';
import type { TSchema } from 'typebox';
import type { Principal } from '../keys/principal.ts';
import type { Scope } from '../keys/schema.ts';
import { kib } from '../schema.ts';
import { compileCheck } from '../validation.ts';
import { parseJson, rememberBody } from './body.ts';
import { commonHeaders } from './commonHeaders.ts';
import { type ErrorLog, jsonType, renderError } from './errors.ts';
import type { FastRoute } from './fastLane.ts';
import { readyHead, sendReady } from './readyHead.ts';
import { boundUnread } from './stall.ts';

/** Larger ones are counted together, in the usual way. */
const smallBodyBytesMax = 16 * kib;

interface FastWriteOptions<Body> {
  readonly url: string;
  readonly scope: Scope;
  readonly body: TSchema;
  readonly log: ErrorLog;
  readonly run: (principal: Principal, body: Body, headers: IncomingHttpHeaders) => Promise<unknown>;
}

function isSmallJson(headers: IncomingHttpHeaders): boolean {
  const length = Number(headers['content-length'] ?? 0);
  const plain = headers['content-type'] === 'application/json' && headers['content-encoding'] === undefined;
  return plain && length > 0 && length <= smallBodyBytesMax;
}

export function fastWrite<Body>({ url, scope, body: schema, log, run }: FastWriteOptions<Body>): FastRoute {
  const check = compileCheck(schema);
  const shared = { ...commonHeaders, 'content-type': jsonType };
  const done = readyHead(200, shared);

  function parse(bytes: Buffer): Body | undefined {
    try {
      const value = parseJson(bytes);
      return check(value) === undefined ? (value as Body) : undefined;
    } catch {
      return undefined;
    }
  }

  const take: FastRoute['take'] = ({ principal, request, response }, lane) => {
    const { headers } = request;
    if (!isSmallJson(headers)) return false;

    function answer(body: Body): void {
      const id = lane.nextId();
      run(principal, body, headers).then(
        (value) => {
          if (lane.isStopping()) response.shouldKeepAlive = false;
          const text = JSON.stringify(value);
          sendReady(response, done, { text, bytes: Buffer.byteLength(text) }, id);
        },
        (error: unknown) => {
          if (lane.isStopping()) response.shouldKeepAlive = false;
          const { status, headers: own, text } = renderError(error, id, log);
          const length = Buffer.byteLength(text);
          response.writeHead(status, { ...shared, ...own, 'content-length': length, 'x-request-id': id });
          response.end(text);
          boundUnread(response);
        },
      );
    }

    request.takeBody((bytes) => {
      const body = parse(bytes);
      if (body !== undefined) return answer(body);
      rememberBody(request, bytes);
      lane.answerUsually(request, response);
    });
    return true;
  };

  return { method: 'POST', url, scope, bearer: false, take };
}
