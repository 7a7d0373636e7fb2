// POST …/confirm.

import { needs } from '../../http/access.ts';
import type { Server } from '../../http/routeTable.ts';
import { ConversationParams } from '../id.ts';
import { Success } from '../lifecycle/schema.ts';
import { Confirmation } from './schema.ts';
import type { Confirmations } from './service.ts';

export function confirmationRoutes(app: Server, confirmations: Confirmations): void {
  app.post(
    '/api/conversations/:id/confirm',
    {
      config: {
        access: needs('conversations:write'),
        document: {
          errors: ['nothing_to_confirm'],
          requestExamples: { allow: { decision: 'allow' }, reject: { decision: 'reject', question: 7 } },
        },
      },
      schema: {
        tags: ['Conversations'],
        operationId: 'confirmAction',
        summary: 'Answer an approval request',
        description:
          'With `confirmation_mode`, the agent asks before it acts. Its state is `awaiting_user_confirmation` while it waits for the answer.',
        params: ConversationParams,
        body: Confirmation,
        response: { 200: Success },
      },
    },
    async ({ principal, params, body }) => {
      await confirmations.answer(principal, params.id, body);
      return { success: true };
    },
  );
}
