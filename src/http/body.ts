// Reads JSON bodies, with limits on each and on all together, and a strict media type. Errors never quote the content.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError, invalid } from '../errors.ts';
import { bodyBytesMax, mib } from '../validation/schema.ts';
import { findTooManyValues } from '../validation/tooManyValues.ts';

/** All bodies whose responses are not sent yet. */
const allBodiesBytesMax = 128 * mib;
/** Twice the size of the largest valid request. */
export const bodyValuesMax = 20_000;
const mergePatch = 'application/merge-patch+json';

export type BodyParser = (
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: Error | null, body?: unknown) => void,
) => void;

const tooLarge = new AppError('body_too_large', 'The body is larger than 16 MiB.');
const cutShort = new AppError('malformed_request', 'The body is incomplete.');

function mediaFault({ headers, method }: Pick<FastifyRequest, 'headers' | 'method'>): AppError | undefined {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  const charset = parameters.map((p) => p.trim()).find((p) => p.startsWith('charset='));
  const plain = (headers['content-encoding'] ?? 'identity') === 'identity';
  const utf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  const json = type.trim() === 'application/json' || (method === 'PATCH' && type.trim() === mergePatch);
  if (json && plain && utf8) return undefined;
  return new AppError(
    'unsupported_media_type',
    'Send the body as plain UTF-8 JSON with the header Content-Type: application/json.',
  );
}

/** Throws errors for callers. */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new AppError('malformed_json', 'The body is not valid UTF-8.');
  const crowd = findTooManyValues(bytes, bodyValuesMax);
  if (crowd !== undefined) throw invalid([{ path: 'body', message: crowd }]);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    // The engine's own message quotes the input, so it is dropped.
    throw new AppError('malformed_json', 'The body is not valid JSON.');
  }
}

/** Creates the parser for every content type. An empty body of any type is an empty object. */
export function createBodyParser(bodiesBytesMax = allBodiesBytesMax): BodyParser {
  let reading = 0;

  return (request, payload, done) => {
    const fault = mediaFault(request);
    const announced = Number(request.headers['content-length'] ?? 0);
    if (announced > bodyBytesMax) return done(tooLarge);
    if (fault !== undefined && announced > 0) return done(fault);
    let chunks: Buffer[] = [];
    let bytes = 0;
    let finished = false;

    function release(): void {
      reading -= bytes;
      bytes = 0;
      chunks = [];
    }

    function finish(error: Error | null, body?: unknown): void {
      if (finished) return;
      finished = true;
      payload.off('data', take);
      if (error !== null) {
        release();
        payload.resume();
      }
      done(error, body);
    }

    function parseAll(whole: Buffer): void {
      try {
        finish(null, parseJson(whole));
      } catch (error) {
        finish(error as Error);
      }
    }

    function take(chunk: Buffer): void {
      bytes += chunk.length;
      reading += chunk.length;
      chunks.push(chunk);
      if (bytes > bodyBytesMax) finish(tooLarge);
      else if (reading > bodiesBytesMax)
        finish(new AppError('overloaded', 'Too many large requests at once; try again.', { retryAfterS: 1 }));
    }

    // The parsed body stays in memory until the response is sent.
    request.response.once('close', release);
    payload.on('data', take);
    payload.on('end', () => {
      if (bytes === 0) return finish(null, {});
      if (fault !== undefined) return finish(fault);
      const [only] = chunks;
      parseAll(only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks));
    });
    payload.on('error', () => finish(cutShort));
    payload.on('close', () => finish(cutShort));
  };
}
