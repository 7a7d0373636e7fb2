// POST /api/conversations.
import type { IncomingHttpHeaders } from 'node:http';
import Type from 'typebox';
import { needs } from '../http/access.ts';
import type { ErrorLog } from '../http/errors.ts';
import type { FastRoute } from '../http/fastLane.ts';
import { fastWrite } from '../http/fastWrite.ts';
import type { Server } from '../http/server.ts';
import { createdExample, createExamples } from './examples.ts';
import { ConversationResponse, CreateConversation } from './schema.ts';
import type { Conversations } from './service.ts';

const IdempotencyHeader = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({ description: 'Makes a repeat of this request safe for 24 hours, where you send no id.' }),
  ),
});

const scope = 'conversations:write';

function idempotencyKeyOf(headers: IncomingHttpHeaders): string | undefined {
  return headers['idempotency-key'] as string | undefined;
}

/** Creation, for those who create often. */
export function fastCreation(conversations: Conversations, log: ErrorLog): FastRoute {
  return fastWrite<CreateConversation>({
    url: '/api/conversations',
    scope,
    body: CreateConversation,
    log,
    run: (principal, body, headers) =>
      conversations.create(principal, body, { idempotencyKey: idempotencyKeyOf(headers) }),
  });
}

export function conversationRoutes(app: Server, conversations: Conversations): void {
  app.post(
    '/api/conversations',
    {
      config: {
        access: needs(scope, { limitedByHandler: true }),
        document: {
          headers: IdempotencyHeader,
          requestExamples: createExamples,
          responseExamples: { created: createdExample },
          errors: ['conversation_exists', 'idempotency_key_reused'],
        },
      },
      schema: {
        tags: ['Conversations'],
        operationId: 'createConversation',
        summary: 'Create a conversation',
        description:
          'Every member is optional; null means absent. The answer is sent once the conversation is on disk. Repeat a request safely by sending a `conversation_id` of your own, or the header `Idempotency-Key` (kept 24 hours).',
        body: CreateConversation,
        response: { 200: ConversationResponse },
      },
    },
    ({ principal, body, headers, overRate }) =>
      conversations.create(principal, body, {
        idempotencyKey: idempotencyKeyOf(headers),
        overRate,
      }),
  );
}
