// POST /api/conversations/{id}/files, and GET …/uploads/{upload} for other nodes.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest, preHandlerAsyncHookHandler } from 'fastify';
import Type from 'typebox';
import { ConversationParams } from '../../conversations/id.ts';
import { AppError, type ErrorCode } from '../../errors.ts';
import { needs } from '../../http/access.ts';
import { extendArrival } from '../../http/arrival.ts';
import { sendError } from '../../http/errors.ts';
import { readFileParts } from '../../http/multipart.ts';
import type { PassOn } from '../../http/passOn.ts';
import type { Server } from '../../http/routeTable.ts';
import { closeAfterResponse } from '../../http/unreadBody.ts';
import { mib } from '../../validation/schema.ts';
import { filesMax, requestBytesMax, uploadMs } from './bounds.ts';
import { uploadExample } from './examples.ts';
import { tooManyFiles } from './limits.ts';
import { Upload } from './schema.ts';
import type { Uploads } from './service.ts';

export const uploadAccess = needs('conversations:write');
const uploadErrors: readonly ErrorCode[] = [
  'malformed_request',
  'body_too_large',
  'unsupported_media_type',
  'limit_reached',
  'overloaded',
  'no_sandbox',
  'node_unreachable',
];
/** For the boundaries and headers of the parts. */
const overheadBytesMax = mib;

type UploadRequest = FastifyRequest<{ Params: { id: string } }>;

const tooLarge = () =>
  new AppError(
    'body_too_large',
    `The files are together larger than ${requestBytesMax / mib} MiB; nothing was stored.`,
  );

/** Nothing more of the body is needed. */
export function sendUploadError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  closeAfterResponse(request.raw, reply.raw);
  sendError(error, request, reply);
}

/** Passes the request on only if the files must be written at once. */
export function uploadHook(uploads: Uploads, passOn: PassOn): preHandlerAsyncHookHandler {
  return async function hook(request, reply) {
    const { id } = request.params as { id: string };
    extendArrival(request.raw, request.server.server, uploadMs);
    if (!request.isPassedOn && (await uploads.isRunning(request.principal, id)))
      await passOn.call(this, request, reply);
  };
}

export function receiveUpload(uploads: Uploads, request: UploadRequest): Promise<Upload> {
  const { principal, params, raw, response } = request;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const files = readFileParts(raw, {
    field: 'files',
    filesMax,
    bytesMax: requestBytesMax + overheadBytesMax,
    tooManyFiles: () => tooManyFiles(filesMax),
    tooLarge,
  });
  return uploads.upload({ principal, id: params.id, signal: gone.signal, files });
}

/** Leaves the bodies of requests in this scope unread. */
export function withUnreadBodies(app: Server, declare: (scope: Server) => void): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    declare(scope as Server);
  });
}

function uploadRoute(app: Server, uploads: Uploads, passOn: PassOn): void {
  app.post(
    '/api/conversations/:id/files',
    {
      preHandler: uploadHook(uploads, passOn),
      errorHandler: sendUploadError,
      config: {
        access: uploadAccess,
        document: { fileField: 'files', errors: uploadErrors, responseExamples: { uploaded: uploadExample } },
      },
      schema: {
        tags: ['Workspaces'],
        operationId: 'uploadFiles',
        summary: 'Upload files',
        description: `Puts files into the workspace: all of them, or none if the response is an error. The body is multipart/form-data with at most ${filesMax} files in the field \`files\`, of at most 256 MiB each and ${requestBytesMax / mib} MiB together. A name that is taken gets a number, such as \`a (1).txt\`, unless the content is the same. If the conversation is not running, the files wait until it starts.`,
        params: ConversationParams,
        response: { 200: Upload },
      },
    },
    async (request) => receiveUpload(uploads, request),
  );
}

/** Another node runs the conversation, and gets the files that wait here. */
function waitingRoute(app: Server, uploads: Uploads): void {
  app.get(
    '/api/conversations/:id/uploads/:upload',
    {
      config: { access: uploadAccess },
      schema: {
        hide: true,
        params: Type.Object({ id: Type.String({ maxLength: 512 }), upload: Type.String({ maxLength: 64 }) }),
      },
    },
    async ({ principal, params, isPassedOn }, reply) => {
      const frames = isPassedOn ? await uploads.readFrames(principal, params.id, params.upload) : undefined;
      if (frames === undefined) throw new AppError('not_found', 'There is no such upload here.');
      return reply.type('application/octet-stream').send(Readable.from(frames, { objectMode: false }));
    },
  );
}

export function uploadRoutes(app: Server, uploads: Uploads, passOn: PassOn): void {
  withUnreadBodies(app, (scope) => uploadRoute(scope, uploads, passOn));
  waitingRoute(app, uploads);
}
