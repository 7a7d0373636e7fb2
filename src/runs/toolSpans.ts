// The spans of tool calls, by what the agent reports about them. They have the kind of a tool: its title and arguments are
// texts of users and agents.
import type { SessionUpdate } from '../agents/acp/update.ts';
import type { Span, Tracing } from '../tracing/tracing.ts';

/** Further calls have no span until others have ended. */
const openMax = 256;

/** The kinds of ACP. */
const toolKinds: ReadonlySet<unknown> = new Set([
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'switch_mode',
]);

export function createToolSpans(tracing: Tracing) {
  const open = new Map<unknown, Span>();

  function begin({ toolCallId: id, kind }: SessionUpdate, parent: Span | undefined): void {
    if (parent === undefined || open.has(id) || open.size >= openMax) return;
    const tool = toolKinds.has(kind) ? String(kind) : 'other';
    const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool };
    open.set(id, tracing.start(`execute_tool ${tool}`, { parent, attributes }));
  }

  function finish({ toolCallId: id, status }: SessionUpdate): void {
    const span = open.get(id);
    if (span === undefined || (status !== 'completed' && status !== 'failed')) return;
    if (status === 'failed') span.fail('tool_failed');
    span.end();
    open.delete(id);
  }

  return {
    take: (update: SessionUpdate, turn: Span | undefined): void => {
      const { sessionUpdate: type } = update;
      if (type === 'tool_call') begin(update, turn);
      if (type === 'tool_call' || type === 'tool_call_update') finish(update);
    },
    /** Ends those that the agent has not ended. */
    end: (): void => {
      for (const span of open.values()) span.end();
      open.clear();
    },
  };
}
