// GET …/usage.

import { needs } from '../../http/access.ts';
import type { Server } from '../../http/routeTable.ts';
import { ConversationParams } from '../id.ts';
import { usageExample } from './examples.ts';
import { Usage } from './schema.ts';
import type { Usages } from './service.ts';

export function usageRoutes(app: Server, usages: Usages): void {
  app.get(
    '/api/conversations/:id/usage',
    {
      config: { access: needs('conversations:read'), document: { responseExamples: { some: usageExample } } },
      schema: {
        tags: ['Conversations'],
        operationId: 'getUsage',
        summary: 'Read the usage of a conversation',
        description: 'The figures may be a few seconds old while the agent works.',
        params: ConversationParams,
        response: { 200: Usage },
      },
    },
    async ({ principal, params }) => usages.get(principal, params.id),
  );
}
