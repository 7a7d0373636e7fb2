// POST …/cancel.
import { needs } from '../../http/access.ts';
import type { Server } from '../../http/routeTable.ts';
import { createdExample } from '../create/examples.ts';
import { ConversationResponse } from '../create/schema.ts';
import { ConversationParams } from '../id.ts';
import type { Cancellations } from './service.ts';

export function cancellationRoutes(app: Server, cancellations: Cancellations): void {
  app.post(
    '/api/conversations/:id/cancel',
    {
      config: {
        access: needs('conversations:write'),
        document: {
          responseExamples: { cancelled: { ...createdExample, conversation_status: 'RUNNING' } },
        },
      },
      schema: {
        tags: ['Conversations'],
        operationId: 'cancelTurn',
        summary: 'Cancel the current turn',
        description:
          'Ends the turn of the agent; the conversation keeps running and waits for a message. An open approval request is rejected, and messages that the agent was not given yet are not given to it. Does nothing if there is nothing to cancel.',
        params: ConversationParams,
        response: { 200: ConversationResponse },
      },
    },
    async ({ principal, params }) => cancellations.cancel(principal, params.id),
  );
}
