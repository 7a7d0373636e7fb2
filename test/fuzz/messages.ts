// Valid messages of an agent, from which the fuzzer makes invalid ones.
import type { Random } from '../chaos/random.ts';

export type Json = Record<string, unknown>;

const text = (value: string) => ({ type: 'text', text: value });
const content = (value: string) => ({ type: 'content', content: text(value) });
const kinds = [
  'execute',
  'execute',
  'execute',
  'execute',
  'edit',
  'edit',
  'read',
  'search',
  'fetch',
  'delete',
  'move',
  'think',
  'other',
];
const statuses = ['pending', 'in_progress', 'completed', 'failed'];

function toolCall(random: Random): Json {
  return {
    // Mostly new ones: what comes for a call that has ended is passed over.
    toolCallId: `call-${random.chance(0.3) ? random.between(1, 20) : random.between(1, 1_000_000)}`,
    title: random.pick(['Run the tests', '`npm test`', 'mcp__server__tool', 'server_tool', 'Edit a.ts']),
    kind: random.pick(kinds),
    status: random.pick(statuses),
    rawInput: random.pick<Json>([
      { command: ['npm', 'test', '--', '--all'] },
      { cmd: ['npm', 'run', 'build'] },
      { command: 'npm test', cwd: '/workspace' },
      { file_path: '/workspace/a.ts', old_string: 'a', new_string: 'b' },
      { url: 'https://example.com/', prompt: 'What is it?' },
    ]),
    rawOutput: random.pick<unknown>([{ output: 'done', metadata: { exit: 0 } }, { exitCode: 1 }, 'text']),
    content: [content('12 passed'), { type: 'diff', path: 'a.ts', oldText: 'a\nb\n', newText: 'a\nc\n' }],
    locations: [{ path: '/workspace/a.ts', line: 3 }],
  };
}

function update(random: Random): Json {
  const kind = random.pick([
    ...['tool_call', 'tool_call', 'tool_call', 'tool_call_update', 'tool_call_update', 'tool_call_update'],
    ...['agent_message_chunk', 'agent_message_chunk', 'agent_thought_chunk', 'plan'],
    ...['plan', 'usage_update', 'session_info_update', 'current_mode_update', 'from_the_future'],
  ]);
  switch (kind) {
    case 'tool_call':
    case 'tool_call_update':
      return { sessionUpdate: kind, ...toolCall(random) };
    case 'plan':
      return {
        sessionUpdate: kind,
        entries: [
          { content: 'Read', priority: 'high', status: 'completed' },
          { content: 'Write', priority: 'low', status: 'pending' },
        ],
      };
    case 'usage_update':
      return { sessionUpdate: kind, used: 1_000, size: 200_000, cost: { amount: 0.5, currency: 'USD' } };
    case 'session_info_update':
      return { sessionUpdate: kind, title: `Title ${random.between(1, 9)}`, updatedAt: '2026-01-01' };
    case 'agent_message_chunk':
    case 'agent_thought_chunk':
      return {
        sessionUpdate: kind,
        messageId: `m${random.between(1, 3)}`,
        content: random.pick<Json>([
          text('Some words.\n'),
          { type: 'resource_link', name: 'a.ts', uri: 'file:///workspace/a.ts' },
          { type: 'resource', resource: { uri: 'file:///workspace/b.ts', text: 'b' } },
          { type: 'image', mimeType: 'image/png', data: 'AAAA' },
        ]),
      };
    default:
      return { sessionUpdate: kind, currentModeId: 'code', note: { a: [1, 2, 3] } };
  }
}

function permission(sessionId: string, random: Random): Json {
  return {
    sessionId,
    toolCall: toolCall(random),
    options: [
      { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
      { optionId: 'no', name: 'Reject', kind: 'reject_once' },
    ],
  };
}

/** One message, mostly of the kind that agents send most. */
export function validMessage(sessionId: string, random: Random): Json {
  const id = `own-${random.between(1, 1_000_000)}`;
  const kind = random.next();
  if (kind < 0.8)
    return { jsonrpc: '2.0', method: 'session/update', params: { sessionId, update: update(random) } };
  if (kind < 0.88)
    return {
      jsonrpc: '2.0',
      id,
      method: 'session/request_permission',
      params: permission(sessionId, random),
    };
  if (kind < 0.92)
    return { jsonrpc: '2.0', id, method: 'fs/read_text_file', params: { sessionId, path: '/etc/passwd' } };
  if (kind < 0.96)
    return { jsonrpc: '2.0', id: random.between(0, 99), result: { stopReason: 'end_turn', sessionId } };
  return { jsonrpc: '2.0', id: random.between(0, 99), error: { code: -32_000, message: 'No.' } };
}
