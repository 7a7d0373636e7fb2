// POST /api/conversations.
import { needs } from '../../http/access.ts';
import type { Server } from '../../http/routeTable.ts';
import { IdempotencyHeader } from '../idempotency/schema.ts';
import { createdExample, createExamples } from './examples.ts';
import { ConversationResponse, CreateConversation } from './schema.ts';
import type { Conversations } from './service.ts';

export function conversationRoutes(app: Server, conversations: Conversations): void {
  app.post(
    '/api/conversations',
    {
      config: {
        access: needs('conversations:write', { limitedByHandler: true }),
        document: {
          headers: IdempotencyHeader,
          requestExamples: createExamples,
          responseExamples: { created: createdExample },
          errors: [
            'conversation_exists',
            'idempotency_key_reused',
            'too_many_waiting',
            'provider_key_missing',
            'sealing_key_missing',
          ],
        },
      },
      schema: {
        tags: ['Conversations'],
        operationId: 'createConversation',
        summary: 'Create a conversation',
        description:
          'Every field is optional; null means absent. The response is sent when the conversation is stored durably. To retry safely, send a `conversation_id` of your own or the header `Idempotency-Key`, which is kept for 24 hours.',
        body: CreateConversation,
        response: { 200: ConversationResponse },
      },
    },
    ({ principal, body, headers, overRate, span }) =>
      conversations.create(principal, body, {
        idempotencyKey: headers['idempotency-key'] as string | undefined,
        overRate,
        span,
      }),
  );
}
