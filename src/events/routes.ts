// GET …/events, …/events/stream and …/trajectory of a conversation, and GET /api/events/stream.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ConversationParams } from '../conversations/id.ts';
import { AppError, type ErrorCode } from '../errors.ts';
import { needs } from '../http/access.ts';
import { jsonType } from '../http/errors.ts';
import type { Server } from '../http/routeTable.ts';
import { isTrue } from '../validation/schema.ts';
import { Change } from './changes/schema.ts';
import { changeExample, eventsExample } from './examples.ts';
import {
  EventStreamQuery,
  EventsPage,
  EventsQuery,
  PartialText,
  StreamHeaders,
  StreamQuery,
  Trajectory,
} from './schema.ts';
import type { Events, Stream } from './service.ts';
import { sseReceiver } from './sse.ts';
import { Event } from './vocabulary/vocabulary.ts';

const access = needs('conversations:read');
const tags = ['Events'];
const reconnectMs = 1_000;
/** In OpenAPI 3.1 the schema of a stream is that of the data of each frame, as client generators expect it. */
const streamResponse = {
  description: 'Server-sent events that do not end; the `data` of each is this as one line of JSON.',
  mediaType: 'text/event-stream',
};
const streamErrors: readonly ErrorCode[] = ['overloaded'];

function lastSeen(request: FastifyRequest<{ Querystring: { after?: string } }>): string | undefined {
  // Browsers repeat the first URL when they reconnect, so the header is newer than the query.
  return (request.headers['last-event-id'] as string | undefined) ?? request.query.after;
}

/** Counts the response as a stream until it ends. Throws if too many are open. */
function countStream(events: Events, { principal, response }: FastifyRequest): void {
  const release = events.connections.open(principal);
  if (response.destroyed) release();
  else response.once('close', release);
}

/** Throws if no stream can be opened. Called before the headers of the response are sent. */
function checkStream(events: Events, request: FastifyRequest): void {
  // With pipelining, the stream would wait for the response before it, and forever if that is a stream.
  if (request.response.socket === null)
    throw new AppError('malformed_request', 'A stream needs a connection of its own: send it first.');
  countStream(events, request);
}

/** Sends the response headers. Returns false for a HEAD request, which is answered with them. */
function beginStream(reply: FastifyReply, { reset, cursor }: Stream): boolean {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    // Proxies must not buffer the stream.
    'x-accel-buffering': 'no',
  });
  if (reply.request.method === 'HEAD') {
    reply.raw.end();
    return false;
  }
  // The cursor is sent first, so that a client that has received no event yet can reconnect, too.
  reply.raw.write(`retry: ${reconnectMs}\nid: ${cursor}\n${reset ? 'event: reset\ndata: {}\n' : ''}\n`);
  return true;
}

function pageRoute(app: Server, events: Events): void {
  app.get(
    '/api/conversations/:id/events',
    {
      config: {
        access,
        document: {
          errors: ['bad_limit'],
          responses: {
            200: { description: 'A page of events.', anyOf: [EventsPage], examples: { page: eventsExample } },
          },
        },
      },
      schema: {
        tags,
        operationId: 'listEvents',
        summary: 'Read events',
        description:
          'Ids start at 0 in each conversation and have no gaps. A page may have fewer events than requested if they are large; `has_more` shows whether there are more.',
        params: ConversationParams,
        querystring: EventsQuery,
      },
    },
    async (request, reply) => {
      const text = await events.page(request.principal, request.params.id, request.query);
      return reply.type(jsonType).send(text);
    },
  );
}

function trajectoryRoute(app: Server, events: Events): void {
  app.get(
    '/api/conversations/:id/trajectory',
    {
      config: {
        access,
        document: {
          errors: streamErrors,
          responses: { 200: { description: 'All events.', anyOf: [Trajectory] } },
        },
      },
      schema: {
        tags,
        operationId: 'getTrajectory',
        summary: 'Export all events',
        description:
          'Returns all events in one streamed response. An interrupted response is not valid JSON.',
        params: ConversationParams,
      },
    },
    async (request, reply) => {
      countStream(events, request);
      const pieces = await events.trajectory(request.principal, request.params.id);
      return reply.type(jsonType).send(Readable.from(pieces, { objectMode: false }));
    },
  );
}

function eventStreamRoute(app: Server, events: Events): void {
  app.get(
    '/api/conversations/:id/events/stream',
    {
      config: {
        access,
        document: {
          headers: StreamHeaders,
          errors: streamErrors,
          responses: {
            200: {
              ...streamResponse,
              anyOf: [Event, PartialText],
              examples: { event: eventsExample.events[0] },
            },
          },
        },
      },
      schema: {
        tags,
        operationId: 'streamEvents',
        summary: 'Stream events',
        description:
          'Server-sent events: first the stored events after the cursor, then new ones, each once and in order. `id:` is the id of the event. To resume, send the last id as `Last-Event-ID` or `?after=`. The stream ends when the conversation is deleted or the API key is revoked. With `?partials=true` it also sends text that is still being written, as events named `partial` without `id:`.',
        params: ConversationParams,
        querystring: EventStreamQuery,
      },
    },
    async (request, reply) => {
      checkStream(events, request);
      const stream = await events.openConversation(request.principal, request.params.id, lastSeen(request));
      // The client may have disconnected while its log was being found.
      if (beginStream(reply, stream) && !reply.raw.destroyed)
        events.subscribe(
          request.principal,
          stream,
          sseReceiver(reply.raw, {
            unsent: events.unsent,
            userId: request.principal.userId,
            partials: isTrue(request.query.partials),
          }),
        );
    },
  );
}

/** Another process has subscribers of the conversation, and this one has its run. */
function relayRoute(app: Server, events: Events): void {
  app.get(
    '/api/conversations/:id/partials',
    { config: { access }, schema: { hide: true, params: ConversationParams } },
    async ({ principal, params, isPassedOn }, reply) => {
      const key = isPassedOn ? await events.findRunHere(principal, params.id) : undefined;
      if (key === undefined) throw new AppError('not_found', 'The conversation has no run here.');
      reply.hijack();
      reply.raw.writeHead(200, { 'content-type': 'application/x-ndjson' });
      events.relay(key, reply.raw);
    },
  );
}

function changeStreamRoute(app: Server, events: Events): void {
  app.get(
    '/api/events/stream',
    {
      config: {
        access,
        document: {
          headers: StreamHeaders,
          errors: streamErrors,
          responses: { 200: { ...streamResponse, anyOf: [Change], examples: { change: changeExample } } },
        },
      },
      schema: {
        tags,
        operationId: 'streamChanges',
        summary: 'Stream changes of your conversations',
        description:
          'Server-sent events: every change of status, title or agent state of your conversations, from now on or after the cursor. A status of null means that the conversation was deleted. An event named `reset` means that the cursor is older than 7 days: read the list again.',
        querystring: StreamQuery,
      },
    },
    async (request, reply) => {
      checkStream(events, request);
      const stream = await events.openChanges(request.principal, lastSeen(request));
      // The client may have disconnected while its log was being found.
      if (beginStream(reply, stream) && !reply.raw.destroyed)
        events.subscribe(
          request.principal,
          stream,
          sseReceiver(reply.raw, { unsent: events.unsent, userId: request.principal.userId }),
        );
    },
  );
}

export function eventRoutes(app: Server, events: Events): void {
  pageRoute(app, events);
  trajectoryRoute(app, events);
  eventStreamRoute(app, events);
  changeStreamRoute(app, events);
  relayRoute(app, events);
}
