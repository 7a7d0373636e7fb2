// POST /api/conversations/{id}/fork.
import { needs } from '../../http/access.ts';
import type { Server } from '../../http/routeTable.ts';
import { createdExample } from '../create/examples.ts';
import { ConversationResponse } from '../create/schema.ts';
import { ConversationParams } from '../id.ts';
import { IdempotencyHeader } from '../idempotency/schema.ts';
import { ForkConversation } from './schema.ts';
import type { Forks } from './service.ts';

export function forkRoutes(app: Server, forks: Forks): void {
  app.post(
    '/api/conversations/:id/fork',
    {
      config: {
        access: needs('conversations:write', { limitedByHandler: true }),
        document: {
          headers: IdempotencyHeader,
          requestExamples: {
            turn: { event_id: 41, message: 'Try it without the cache.' },
            latest: { files: 'latest', title: 'Second attempt' },
          },
          responseExamples: { forked: createdExample },
          errors: [
            'no_snapshot',
            'snapshot_unusable',
            'limit_reached',
            'idempotency_key_reused',
            'too_many_waiting',
            'provider_key_missing',
          ],
        },
      },
      schema: {
        tags: ['Conversations'],
        operationId: 'forkConversation',
        summary: 'Fork a conversation',
        description:
          'Creates a conversation with the history of another one up to an event, with the same repository, branch and choices, and with the files as they were at the end of that turn. It is STOPPED until it gets a message, or starts at once with `message`. Its agent gets a new session with the history. Absent choices are those of the other conversation. With the header `Idempotency-Key`, which is kept for 24 hours, a repeated request creates one conversation.',
        params: ConversationParams,
        body: ForkConversation,
        response: { 200: ConversationResponse },
      },
    },
    ({ principal, params, body, headers, overRate, span }) =>
      forks.fork(principal, params.id, body, {
        idempotencyKey: headers['idempotency-key'] as string | undefined,
        overRate,
        span,
      }),
  );
}
