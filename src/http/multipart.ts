// Reads the files of a multipart/form-data body one after another, as streams: nothing is buffered whole.
import type { IncomingMessage } from 'node:http';
import { Busboy, type BusboyFileStream } from '@fastify/busboy';
import { AppError, invalid } from '../errors.ts';

export interface FilePart {
  /** As it was sent: it may contain anything. */
  readonly name: string;
  readonly content: AsyncIterable<Buffer>;
}

interface MultipartBounds {
  /** The only field that may contain files. */
  readonly field: string;
  readonly filesMax: number;
  readonly bytesMax: number;
  readonly tooManyFiles: () => AppError;
  readonly tooLarge: () => AppError;
}

/** Other fields are ignored. */
const fieldsMax = 20;
const fieldBytesMax = 65_536;
const headerBytesMax = 16_384;
const headersMax = 32;
/** The parser neither finishes nor fails if the last part ends within its headers. */
const finishMs = 1_000;

const notMultipart = new AppError(
  'unsupported_media_type',
  'Send files with the header Content-Type: multipart/form-data.',
);
const malformed = () => new AppError('malformed_request', 'The multipart body is malformed or incomplete.');

function createParser({ headers }: IncomingMessage, filesMax: number): InstanceType<typeof Busboy> {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers;
  if (!/^multipart\/form-data\s*;/i.test(type) || encoding !== 'identity') throw notMultipart;
  try {
    return new Busboy({
      headers: { 'content-type': type },
      // Names are checked, not shortened.
      preservePath: true,
      limits: {
        files: filesMax,
        fields: fieldsMax,
        fieldSize: fieldBytesMax,
        parts: filesMax + fieldsMax,
        headerPairs: headersMax,
        headerSize: headerBytesMax,
      },
    });
  } catch {
    throw malformed();
  }
}

/** Each file must be read to its end before the next. Throws errors for callers; the rest of the body is not read then. */
export async function* readFileParts(
  request: IncomingMessage,
  bounds: MultipartBounds,
): AsyncGenerator<FilePart> {
  if (Number(request.headers['content-length'] ?? 0) > bounds.bytesMax) throw bounds.tooLarge();
  // Nobody would be told that the connection has ended already.
  if (request.destroyed) throw malformed();
  const parser = createParser(request, bounds.filesMax);
  const waiting: { readonly name: string; readonly content: BusboyFileStream }[] = [];
  const opened = new Set<BusboyFileStream>();
  let arrived = Promise.withResolvers<void>();
  let fault: AppError | undefined;
  let isDone = false;
  let bytes = 0;
  let unfinished: NodeJS.Timeout | undefined;

  function fail(error: AppError): void {
    fault ??= error;
    request.unpipe(parser).off('data', count).pause();
    for (const content of opened) content.destroy(fault);
    arrived.resolve();
  }

  function count(piece: Buffer): void {
    bytes += piece.length;
    if (bytes > bounds.bytesMax) fail(bounds.tooLarge());
  }

  /** Whatever of the body has not been read by then is lost. */
  const cutShort = () => request.readableEnded || fail(malformed());

  /** Called when the whole body is there, and when a file has been read. */
  function expectFinish(): void {
    clearTimeout(unfinished);
    if (!request.readableEnded || isDone || opened.size > 0) return;
    unfinished = setTimeout(() => isDone || fail(malformed()), finishMs);
  }

  parser.on('file', (field, content, name) => {
    opened.add(content);
    content.once('close', () => {
      opened.delete(content);
      expectFinish();
    });
    // The reader gets the error as well. Without a listener it would be uncaught if nobody reads.
    content.on('error', () => {});
    if (field !== bounds.field)
      return fail(invalid([{ path: 'body', message: `must have its files in the field "${bounds.field}"` }]));
    waiting.push({ name: name ?? '', content });
    arrived.resolve();
  });
  parser.once('filesLimit', () => fail(bounds.tooManyFiles()));
  parser.once('partsLimit', () => fail(bounds.tooManyFiles()));
  parser.on('error', () => fail(malformed()));
  parser.once('finish', () => {
    isDone = true;
    arrived.resolve();
  });
  request.on('data', count).once('end', expectFinish).once('close', cutShort).once('error', cutShort);
  request.pipe(parser);

  try {
    for (;;) {
      if (fault !== undefined) throw fault;
      const next = waiting.shift();
      if (next !== undefined) yield { name: next.name, content: next.content as AsyncIterable<Buffer> };
      else if (isDone) return;
      else {
        await arrived.promise;
        arrived = Promise.withResolvers<void>();
      }
    }
  } finally {
    request.unpipe(parser).off('data', count).off('end', expectFinish);
    request.off('close', cutShort).off('error', cutShort);
    clearTimeout(unfinished);
    if (!isDone) request.pause();
    for (const content of opened) content.destroy();
  }
}
