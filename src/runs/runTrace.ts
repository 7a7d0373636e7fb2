// The spans of a run: its start with its parts, and each turn with its tool calls. They end soon, unlike the run itself, so
// that a trace is complete when its turn is.
import type { SessionUpdate } from '../agents/acp/update.ts';
import type { ClaimedConversation } from '../conversations/run/claimStore.ts';
import { readTrace } from '../conversations/trace/store.ts';
import type { Database } from '../db/transaction.ts';
import { errorTypeOf, type Span, type Tracing, traced } from '../tracing/tracing.ts';
import { createToolSpans } from './toolSpans.ts';

export interface RunTrace {
  /** Does a part of the start in a span. */
  part<Out>(name: string, work: () => Promise<Out>): Promise<Out>;
  /** The conversation is RUNNING. */
  started(agent: string): void;
  /** A turn belongs to the trace of the last request that gave the conversation work. */
  beginTurn(agent: string): Promise<void>;
  endTurn(): void;
  onUpdate(update: SessionUpdate): void;
  /** What model requests are a part of. */
  current(): Span | undefined;
  /** Ends what is open. The error is why the run ended, if it did not end by itself. */
  end(error?: unknown): void;
}

const untraced: RunTrace = {
  part: (_, work) => work(),
  started: () => {},
  beginTurn: async () => {},
  endTurn: () => {},
  onUpdate: () => {},
  current: () => undefined,
  end: () => {},
};

interface RunTraceOptions {
  readonly tracing: Tracing | undefined;
  readonly database: Database;
  readonly conversation: Pick<ClaimedConversation, 'key' | 'status' | 'traceparent'>;
  readonly runId: string;
  readonly onError: (error: Error) => void;
}

export function createRunTrace(options: RunTraceOptions): RunTrace {
  const { tracing, database, conversation, runId, onError } = options;
  if (tracing === undefined) return untraced;
  const { key, status, traceparent } = conversation;
  const start = tracing.start('start run', {
    kind: 'consumer',
    parent: traceparent,
    attributes: { 'parley.run.id': runId, 'parley.run.kind': status === 'RUNNING' ? 'takeover' : 'start' },
  });
  const tools = createToolSpans(tracing);
  let turn: Span | undefined;

  function endTurn(): void {
    tools.end();
    turn?.end();
    turn = undefined;
  }

  return {
    part: (name, work) => traced(tracing, name, { parent: start }, work),
    started: (agent) => {
      start.set({ 'gen_ai.agent.name': agent });
      start.end();
    },
    beginTurn: async (agent) => {
      endTurn();
      const parent = await database.run(readTrace, key).catch((error: Error) => {
        onError(error);
        return traceparent;
      });
      turn = tracing.start(`invoke_agent ${agent}`, {
        parent: parent ?? start,
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': agent,
          'parley.run.id': runId,
        },
      });
    },
    endTurn,
    onUpdate: (update) => tools.take(update, turn),
    current: () => turn ?? start,
    end: (error) => {
      if (error !== undefined) (turn ?? start).fail(errorTypeOf(error));
      endTurn();
      start.end();
    },
  };
}
