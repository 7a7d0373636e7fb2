// GET /api/spending.
import { needs } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import { spendingExample } from './examples.ts';
import { Spending } from './schema.ts';
import type { Budgets } from './service.ts';

export function budgetRoutes(app: Server, budgets: Budgets): void {
  app.get(
    '/api/spending',
    {
      config: {
        access: needs('conversations:read'),
        document: { responseExamples: { some: spendingExample } },
      },
      schema: {
        tags: ['Users'],
        operationId: 'getSpending',
        summary: 'Read what you have spent on models',
        description:
          'Today and this month in UTC, with your budget. The figures may be a few seconds old while agents work.',
        response: { 200: Spending },
      },
    },
    async ({ principal }) => budgets.get(principal.userId),
  );
}
