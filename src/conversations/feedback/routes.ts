// POST …/feedback, and GET /api/feedback.
import Type from 'typebox';
import { needs } from '../../http/access.ts';
import type { Server } from '../../http/routeTable.ts';
import { ConversationParams } from '../id.ts';
import { FeedbackList, NewFeedback } from './schema.ts';
import type { Feedback } from './service.ts';

const tags = ['Conversations'];

export function feedbackRoutes(app: Server, feedback: Feedback): void {
  app.post(
    '/api/conversations/:id/feedback',
    {
      config: {
        access: needs('conversations:write'),
        document: {
          requestExamples: { feedback: { polarity: 'positive', comment: 'It found the cause at once.' } },
          errors: ['limit_reached'],
        },
      },
      schema: {
        tags,
        operationId: 'addFeedback',
        summary: 'Store feedback',
        description:
          'Stores what you think of a conversation, at most 1,000 times. It is sent nowhere, and deleted with the conversation.',
        params: ConversationParams,
        body: NewFeedback,
        response: { 200: Type.Object({ id: Type.String() }, { additionalProperties: false }) },
      },
    },
    async ({ principal, params, body }) => ({ id: await feedback.add(principal, params.id, body) }),
  );

  app.get(
    '/api/feedback',
    {
      config: { access: needs('conversations:read') },
      schema: {
        tags,
        operationId: 'listFeedback',
        summary: 'Export feedback',
        description: 'Returns all feedback that you have stored, oldest first.',
        response: { 200: FeedbackList },
      },
    },
    async ({ principal }) => feedback.list(principal),
  );
}
