// A simulated agent: the program that a run starts in its sandbox. It has a life of its own beside the process of the
// run, so it goes on while that process is paused, and what it writes waits in its pipe.
import type { Agent } from '../../src/agents/acp/agent.ts';
import { type AnswerPermission, createApprovalRequests } from '../../src/agents/acp/approvalRequests.ts';
import { AgentError } from '../../src/agents/acp/errors.ts';
import { turnField } from '../../src/agents/acp/recordedTurns.ts';
import type { SessionUpdate } from '../../src/agents/acp/update.ts';
import type { Random } from '../chaos/random.ts';
import type { Actor, World } from './world.ts';

/** What an agent keeps in its home, which outlives its process. */
export interface AgentSession {
  readonly id: string;
  /** The last turn in its journal. */
  recorded: number | null;
  /** The messages that it knows of. */
  readonly known: Set<string>;
}

export interface Home {
  readonly sessions: Map<string, AgentSession>;
}

export type TurnPlan = 'work' | 'hang' | 'die' | 'refuse';

/** What a program needs from the world around it. */
export interface ProgramOptions {
  readonly world: World;
  readonly random: Random;
  /** The process of its run, which reads what it writes. */
  readonly reader: Actor;
  readonly runId: string;
  readonly home: Home;
  /** Whether it writes down which turn it was given, like the built-in agent. */
  readonly recordsTurns: boolean;
  planTurn(): TurnPlan;
  /** Whether it ends a turn that is cancelled. */
  obeys(): boolean;
  onUpdate(update: SessionUpdate): void | Promise<void>;
  readonly onPermission: AnswerPermission;
  /** Called when it has read a prompt. */
  onReceived(tokens: PromptTokens): void;
}

/** The messages in a prompt, by how the agent is told about them. */
export interface PromptTokens {
  readonly fresh: readonly string[];
  readonly repeated: readonly string[];
  readonly history: readonly string[];
}

const tokenPattern = /#\d+#/g;

export function tokensIn(text: string): string[] {
  return text.match(tokenPattern) ?? [];
}

/** Repeated messages are quoted, and history is between marks; everything else is a new request. */
export function readPrompt(
  blocks: readonly { readonly type: string; readonly text?: string }[],
): PromptTokens {
  const tokens = { fresh: [] as string[], repeated: [] as string[], history: [] as string[] };
  for (const { text = '' } of blocks) {
    const isHistory = text.includes('<history>');
    for (const line of text.split('\n')) {
      const kind = isHistory ? tokens.history : line.startsWith('> ') ? tokens.repeated : tokens.fresh;
      kind.push(...tokensIn(line));
    }
  }
  return tokens;
}

interface OpenTurn {
  isCancelled: boolean;
  /** Stores in the session what the agent was given. */
  remember(): void;
  readonly settle: PromiseWithResolvers<{ stopReason: 'end_turn' | 'cancelled' }>;
}

const options = [
  { optionId: 'once', name: 'Allow', kind: 'allow_once' },
  { optionId: 'always', name: 'Always', kind: 'allow_always' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
] as const;

export interface AgentProgram {
  readonly agent: Agent;
  readonly actor: Actor;
  /** Ends the process at once, from outside. */
  kill(): void;
}

export function startProgram(given: ProgramOptions): AgentProgram {
  const { world, random, reader, runId, home, recordsTurns } = given;
  const actor: Actor = { name: `agent of ${runId}`, isAlive: true, pausedUntil: 0 };
  const closed = Promise.withResolvers<AgentError>();
  const approvals = createApprovalRequests(given.onPermission);
  let session: AgentSession | undefined;
  let turn: OpenTurn | undefined;
  let calls = 0;
  /** Updates are handled one after another, as the real client does. */
  let handled: Promise<unknown> = Promise.resolve();
  let lastArrival = 0;

  /** Runs `work` in the process of the run, after everything that was written before. */
  function write(work: () => void): void {
    lastArrival = Math.max(lastArrival, world.now() + random.between(0, 5)) + 1;
    world.after(lastArrival - world.now(), reader, work);
  }

  function update(sent: SessionUpdate): void {
    write(() => {
      handled = handled.then(() => given.onUpdate(sent)).catch((error: Error) => end(error));
    });
  }

  function fail(error: AgentError): void {
    if (!actor.isAlive) return;
    actor.isAlive = false;
    world.note(() => `${actor.name} ends: ${error.message}`);
    write(() => {
      approvals.cancelAll();
      turn?.settle.reject(error);
      closed.resolve(error);
    });
  }

  function end(reason: Error): void {
    fail(new AgentError('consumer', reason.message, '', { cause: reason }));
  }

  function kill(): void {
    fail(new AgentError('exited', 'The agent was killed.'));
  }

  function endTurn(open: OpenTurn, stopReason: 'end_turn' | 'cancelled'): void {
    if (turn !== open) return;
    open.remember();
    write(() => {
      void handled.then(() => {
        if (turn === open) turn = undefined;
        open.settle.resolve({ stopReason });
      });
    });
  }

  const later = (work: () => void, ms = random.between(5, 400)) => world.after(ms, actor, work);

  /** One action with its approval; `then` is called when it is done or rejected. */
  function act(open: OpenTurn, then: () => void): void {
    calls += 1;
    const toolCallId = `${runId}/${calls}`;
    const call = { toolCallId, title: 'work', kind: 'execute', rawInput: { command: `work ${calls}` } };
    update({ sessionUpdate: 'tool_call', ...call, status: 'pending' });
    write(() => {
      void approvals.request({ toolCall: call, options }).then((answer) =>
        world.after(random.between(1, 5), actor, () => {
          const { outcome, optionId } = (answer as { outcome: { outcome: string; optionId?: string } })
            .outcome;
          if (outcome !== 'selected' || optionId === 'no' || open.isCancelled) {
            update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'failed' });
            return then();
          }
          update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' });
          later(() => {
            update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' });
            then();
          });
        }),
      );
    });
  }

  function work(open: OpenTurn, stepsLeft: number): void {
    if (turn !== open) return;
    if (open.isCancelled || stepsLeft === 0) {
      endTurn(open, open.isCancelled ? 'cancelled' : 'end_turn');
      return;
    }
    const next = () => later(() => work(open, stepsLeft - 1));
    if (random.chance(0.5)) {
      act(open, next);
      return;
    }
    if (random.chance(0.5))
      update({ sessionUpdate: 'session_info_update', title: `Title ${calls} of ${runId}` });
    const text = `Working as ${runId}.\n\n`;
    update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
    next();
  }

  function receive(open: OpenTurn, prompt: PromptTokens, number: number | undefined): void {
    const plan = given.planTurn();
    world.note(() => `${actor.name} reads ${JSON.stringify(prompt)} (${plan})`);
    given.onReceived(prompt);
    /** What a session keeps of a turn is on disk when the agent says so, and at the latest when the turn ends. */
    open.remember = () => {
      for (const token of [...prompt.fresh, ...prompt.repeated, ...prompt.history]) session?.known.add(token);
      if (recordsTurns && session !== undefined) session.recorded = number ?? null;
    };
    // The journal is written before anything else happens; others write when they like.
    if (recordsTurns || random.chance(0.5)) open.remember();
    if (plan === 'refuse') {
      open.remember();
      write(() => {
        if (turn === open) turn = undefined;
        open.settle.reject(new AgentError('refused', 'The agent refused the message: no.'));
      });
      return;
    }
    if (plan === 'die') later(() => fail(new AgentError('exited', 'The agent has ended.')));
    if (plan === 'hang') return;
    work(open, random.between(0, 3));
  }

  const agent: Agent = {
    capabilities: recordsTurns ? { _meta: { [turnField]: true } } : {},
    closed: closed.promise,
    openSession: ({ resume }) =>
      new Promise((resolve, reject) => {
        void closed.promise.then(reject);
        later(() => {
          const old = resume === undefined ? undefined : home.sessions.get(resume);
          session = old ?? { id: `s-${runId}`, recorded: null, known: new Set() };
          home.sessions.set(session.id, session);
          const opened = {
            sessionId: session.id,
            how: old === undefined ? ('new' as const) : ('resumed' as const),
            recordedTurn: recordsTurns && old !== undefined ? old.recorded : undefined,
          };
          write(() => resolve(opened));
        });
      }),
    prompt: (blocks, number) => {
      approvals.beginTurn();
      const open: OpenTurn = { isCancelled: false, remember: () => {}, settle: Promise.withResolvers() };
      if (!actor.isAlive) return Promise.reject(new AgentError('exited', 'The agent has ended.'));
      turn = open;
      const prompt = readPrompt(blocks as readonly { type: string; text?: string }[]);
      world.after(random.between(0, 10), actor, () => receive(open, prompt, number));
      return open.settle.promise;
    },
    cancel: async () => {
      approvals.cancelAll();
      const open = turn;
      world.after(random.between(0, 10), actor, () => {
        if (open === undefined || open !== turn || !given.obeys()) return;
        open.isCancelled = true;
        later(() => endTurn(open, 'cancelled'));
      });
    },
    end,
  };
  return { agent, actor, kill };
}
