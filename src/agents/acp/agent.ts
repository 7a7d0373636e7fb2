// An agent program as the rest of the runtime sees it: opened, prompted, cancelled, ended. See docs/events.md for what
// becomes of its updates.
import type { AgentCapabilities, ContentBlock, McpServer, StopReason } from '@agentclientprotocol/sdk';
import type { SandboxProcess } from '../../sandbox/openSandbox.ts';
import { isObject } from '../../text/foreignText.ts';
import { watchEnd } from './end.ts';
import { AgentError, quote } from './errors.ts';
import { type Ask, createAsk, initialize } from './initialize.ts';
import { notesTurns, withTurn } from './notedTurns.ts';
import { createPeer, type Params, type Peer, RpcError, rpcCodes } from './peer.ts';
import { type AnswerPermission, createQuestions } from './questions.ts';
import { type OpenedSession, openSession } from './session.ts';
import type { SessionUpdate } from './update.ts';

export interface AgentOptions {
  readonly program: SandboxProcess;
  /** The workspace as seen from inside. */
  readonly cwd: string;
  /** For each answer until a session is open. */
  readonly initializeMs: number;
  /** Awaited before the next one is read. What it throws ends the agent. */
  onUpdate(update: SessionUpdate): void | Promise<void>;
  /**
   * Receives updates of sessions that we did not open, such as those of subagents. If it throws, the agent is ended.
   */
  onOtherUpdate?(update: SessionUpdate): void;
  /** What it throws ends the agent. */
  readonly onPermission: AnswerPermission;
  /** A sentence for people, of something odd that harms nothing. */
  onNotice?(sentence: string): void;
  /** Sent with `authenticate`, for agents that want it before a session. */
  readonly authMethod?: string;
}

export interface SessionOptions {
  readonly mcpServers: readonly McpServer[];
  /** The id of a session to go on with. Where the agent cannot, or no longer knows it, a new one is opened. */
  readonly resume?: string;
  readonly modeId?: string;
  /** What only this agent understands: sent as `_meta` of what opens the session. */
  readonly meta?: Params;
}

export interface TurnEnd {
  readonly stopReason: StopReason;
  readonly usage?: unknown;
}

export interface Agent {
  readonly capabilities: AgentCapabilities;
  openSession(options: SessionOptions): Promise<OpenedSession>;
  /**
   * Settles when the turn is over and all its updates were handled. Only one turn may run at a time. `turn` is sent to
   * agents that record turn numbers.
   */
  prompt(blocks: readonly ContentBlock[], turn?: number): Promise<TurnEnd>;
  /** Asks it to end its turn, and answers what it has asked. `prompt` then settles, if the agent heeds it. */
  cancel(): Promise<void>;
  /** Ends the agent's process. Pending calls reject with an AgentError whose cause is `reason`. */
  end(reason: Error): void;
  /** Settles when it has ended, with the reason. Never rejects. */
  readonly closed: Promise<AgentError>;
}

/** What of a session decides where its updates go. */
interface SessionState {
  id: string | undefined;
  muted: boolean;
}

/** Starts to speak to a program. Rejects with AgentError, and then the program is dead. */
export async function openAgent(options: AgentOptions): Promise<Agent> {
  const { program, cwd, initializeMs, onUpdate, onPermission, onNotice, authMethod } = options;
  const session: SessionState = { id: undefined, muted: false };
  const questions = createQuestions(onPermission);
  const peer = createPeer({
    input: program.stdout,
    output: program.stdin,
    onNotification: (method, { sessionId, update }) => {
      if (method !== 'session/update' || session.muted || !isUpdate(update)) return;
      if (session.id === undefined || session.id === sessionId) return onUpdate(update);
      options.onOtherUpdate?.(update);
    },
    onRequest: async (method, params) => {
      if (method === 'session/request_permission') return questions.ask(params);
      throw new RpcError(rpcCodes.methodNotFound, `${quote(method)} is not offered here.`);
    },
    onGarbage: () => onNotice?.('The agent wrote lines that are no messages; they are passed over.'),
  });
  const closed = watchEnd(program, peer).finally(questions.drop);

  const ask = createAsk(peer, initializeMs);
  const capabilities = await initialize(ask, authMethod).catch(async (error: unknown) => {
    await program.kill();
    throw toRefusal(error, 'to begin');
  });

  return {
    capabilities,
    closed,
    end: peer.giveUp,
    openSession: (wanted) => open({ ...wanted, cwd, capabilities }, ask, session),
    prompt: createPrompt(peer, session, notesTurns(capabilities)),
    cancel: async () => {
      if (session.id !== undefined) peer.notify('session/cancel', { sessionId: session.id });
      questions.drop();
    },
  };
}

function isUpdate(value: unknown): value is SessionUpdate {
  return isObject(value) && typeof value['sessionUpdate'] === 'string';
}

type Wanted = SessionOptions & Pick<AgentOptions, 'cwd'> & Pick<Agent, 'capabilities'>;

async function open(wanted: Wanted, ask: Ask, session: SessionState): Promise<OpenedSession> {
  const mute = (on: boolean) => {
    session.muted = on;
  };
  try {
    const opened = await openSession({ ...wanted, ask, mute });
    session.id = opened.sessionId;
    return opened;
  } catch (error) {
    throw toRefusal(error, 'to open a session');
  }
}

function createPrompt(peer: Peer, session: SessionState, notes: boolean): Agent['prompt'] {
  let underWay = false;
  return async (blocks, turn) => {
    if (session.id === undefined || underWay) throw new Error('there is no session, or a turn is under way');
    underWay = true;
    try {
      const numbered = notes && turn !== undefined ? withTurn(turn) : {};
      const params = { sessionId: session.id, prompt: blocks, ...numbered };
      return toTurnEnd(await peer.request('session/prompt', params));
    } catch (error) {
      throw toRefusal(error, 'the message');
    } finally {
      underWay = false;
    }
  };
}

const stopReasons: readonly unknown[] = [
  'end_turn',
  'max_tokens',
  'max_turn_requests',
  'refusal',
  'cancelled',
] satisfies StopReason[];

function toTurnEnd(answer: unknown): TurnEnd {
  const { stopReason, usage } = isObject(answer) ? answer : {};
  if (!stopReasons.includes(stopReason))
    throw new AgentError('protocol', 'The agent ended its turn with an unknown stop reason.');
  return { stopReason: stopReason as StopReason, ...(usage == null ? {} : { usage }) };
}

function toRefusal(error: unknown, what: string): unknown {
  if (!(error instanceof RpcError)) return error;
  if (error.code === rpcCodes.authRequired)
    return new AgentError('auth_needed', `The agent wants a login: ${error.message}`);
  return new AgentError('refused', `The agent refused ${what}: ${error.message}`);
}
