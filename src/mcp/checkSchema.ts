// The request and response of POST /api/mcp/check.
import Type from 'typebox';
import { oneOf } from '../validation/schema.ts';
import { NullableMcpConfig } from './schema.ts';

/** How many tools of a server a response contains; the rest is left out. */
export const toolsMax = 500;
export const toolNameMax = 200;

export const CheckMcp = Type.Object(
  { mcp_config: Type.Optional(NullableMcpConfig) },
  { $id: 'CheckMcp', additionalProperties: false },
);
export type CheckMcp = Type.Static<typeof CheckMcp>;

export const CheckedServer = Type.Object(
  {
    list: oneOf(['sse_servers', 'stdio_servers', 'shttp_servers'], {
      description: 'The list that contains the server.',
    }),
    index: Type.Integer({ minimum: 0, description: 'The index in that list.' }),
    name: Type.String({ description: 'The URL without its query, or the name of a stdio server.' }),
    status: oneOf(['ok', 'failed', 'not_checked']),
    tools: Type.Optional(
      Type.Array(Type.String(), { description: `With ok: names of its tools, at most ${toolsMax}.` }),
    ),
    reason: Type.Optional(Type.String({ description: 'If not ok: a human-readable reason.' })),
  },
  { $id: 'CheckedMcpServer', additionalProperties: false },
);
export type CheckedServer = Type.Static<typeof CheckedServer>;

export const CheckedMcp = Type.Object(
  { servers: Type.Array(CheckedServer) },
  { $id: 'CheckedMcp', additionalProperties: false },
);
export type CheckedMcp = Type.Static<typeof CheckedMcp>;

export const checkMcpExample: CheckMcp = {
  mcp_config: {
    stdio_servers: [{ name: 'files', command: 'npx', args: ['-y', 'files-server'] }],
    shttp_servers: [
      { url: 'https://tools.example.com/mcp', api_key: '**********' },
      'https://old.example.com/mcp',
    ],
  },
};

export const checkedMcpExample: CheckedMcp = {
  servers: [
    {
      list: 'stdio_servers',
      index: 0,
      name: 'files',
      status: 'not_checked',
      reason: 'It runs inside a sandbox, and there is none yet.',
    },
    {
      list: 'shttp_servers',
      index: 0,
      name: 'https://tools.example.com/mcp',
      status: 'ok',
      tools: ['search', 'fetch'],
    },
    {
      list: 'shttp_servers',
      index: 1,
      name: 'https://old.example.com/mcp',
      status: 'failed',
      reason: 'It did not respond within 10 s.',
    },
  ],
};
