// Reads JSON bodies: bounded each and all together, strict about the media type, and silent about the content.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';

export const bodyBytesMax = 16 * 1_024 * 1_024;
/** All bodies that are being read at this moment. */
const allBodiesBytesMax = 256 * 1_024 * 1_024;
const mediaTypes = new Set(['application/json', 'application/merge-patch+json']);

export type BodyParser = (
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: Error | null, body?: unknown) => void,
) => void;

const tooLarge = new AppError('body_too_large', 'The body is larger than 16 MiB.');

function mediaFault(headers: IncomingMessage['headers']): AppError | undefined {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  const charset = parameters.map((p) => p.trim()).find((p) => p.startsWith('charset='));
  const plain = (headers['content-encoding'] ?? 'identity') === 'identity';
  const utf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (mediaTypes.has(type.trim()) && plain && utf8) return undefined;
  return new AppError(
    'unsupported_media_type',
    'Send the body as plain UTF-8 JSON with the header Content-Type: application/json.',
  );
}

function parse(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new AppError('malformed_json', 'The body is not valid UTF-8.');
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    // The engine's message quotes the input, so it goes no further.
    throw new AppError('malformed_json', 'The body is not valid JSON.');
  }
}

/** Makes the parser for every content type. Zero bytes of any type are an empty object. */
export function createBodyParser(bodiesBytesMax = allBodiesBytesMax): BodyParser {
  let reading = 0;

  return (request, payload, done) => {
    const fault = mediaFault(request.headers);
    const announced = Number(request.headers['content-length'] ?? 0);
    if (announced > bodyBytesMax) return done(tooLarge);
    if (fault !== undefined && announced > 0) return done(fault);
    const chunks: Buffer[] = [];
    let bytes = 0;
    let finished = false;

    function finish(error: Error | null, body?: unknown): void {
      if (finished) return;
      finished = true;
      reading -= bytes;
      payload.off('data', take);
      if (error !== null) payload.resume();
      done(error, body);
    }

    function take(chunk: Buffer): void {
      bytes += chunk.length;
      reading += chunk.length;
      chunks.push(chunk);
      if (bytes > bodyBytesMax) finish(tooLarge);
      else if (reading > bodiesBytesMax)
        finish(new AppError('overloaded', 'Too many large requests at once; try again.', { retryAfterS: 1 }));
    }

    payload.on('data', take);
    payload.on('end', () => {
      if (bytes === 0) return finish(null, {});
      if (fault !== undefined) return finish(fault);
      try {
        const [only] = chunks;
        finish(null, parse(only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks)));
      } catch (error) {
        finish(error as Error);
      }
    });
    payload.on('error', () => finish(new AppError('malformed_request', 'The body did not arrive whole.')));
    payload.on('close', () => finish(new AppError('malformed_request', 'The body did not arrive whole.')));
  };
}
