// POST /api/mcp/check.
import { needs } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import type { McpCheck } from './check.ts';
import { CheckedMcp, CheckMcp, checkedMcpExample, checkMcpExample } from './checkSchema.ts';

export function mcpRoutes(app: Server, check: McpCheck): void {
  app.post(
    '/api/mcp/check',
    {
      config: {
        access: needs('settings:read'),
        document: {
          errors: ['sealing_key_missing'],
          requestExamples: { servers: checkMcpExample },
          responseExamples: { servers: checkedMcpExample },
        },
      },
      schema: {
        tags: ['Settings'],
        operationId: 'checkMcp',
        summary: 'Check MCP servers',
        description:
          'Connects to each server in `mcp_config`, or in your settings if it is absent or null, and lists its tools. A masked API key is taken from your settings. Nothing is stored.',
        body: CheckMcp,
        response: { 200: CheckedMcp },
      },
    },
    async (request) => ({ servers: await check(request.principal.userId, request.body) }),
  );
}
