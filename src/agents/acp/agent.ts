// The interface of an agent program: it is opened, prompted, cancelled and ended. docs/events.md describes how its
// updates become events.
import type { AgentCapabilities, ContentBlock, McpServer, StopReason } from '@agentclientprotocol/sdk';
import type { SandboxProcess } from '../../sandbox/openSandbox.ts';
import { isObject } from '../../text/foreignText.ts';
import { type AnswerPermission, createApprovalRequests } from './approvalRequests.ts';
import { watchEnd } from './end.ts';
import { AgentError, quote } from './errors.ts';
import { createTimedRequest, initialize, type TimedRequest } from './initialize.ts';
import { createPeer, type Params, type Peer, RpcError, rpcCodes } from './peer.ts';
import { recordsTurns, withTurn } from './recordedTurns.ts';
import { type OpenedSession, openSession } from './session.ts';
import type { SessionUpdate } from './update.ts';

export interface AgentOptions {
  readonly program: SandboxProcess;
  /** The path of the workspace inside the sandbox. */
  readonly cwd: string;
  /** The timeout of each request until a session is open. */
  readonly initializeMs: number;
  /** Awaited before the next update is read. If it throws, the agent is ended. */
  onUpdate(update: SessionUpdate): void | Promise<void>;
  /** Receives updates of sessions that Parley did not open, such as of subagents. If it throws, the agent is ended. */
  onOtherUpdate?(update: SessionUpdate): void;
  /** If it throws, the agent is ended. */
  readonly onPermission: AnswerPermission;
  /** Receives sentences for people about something odd but harmless. */
  onNotice?(sentence: string): void;
  /** Sent with `authenticate` before the session, if the agent needs it. */
  readonly authMethod?: string;
}

export interface SessionOptions {
  readonly mcpServers: readonly McpServer[];
  /** The id of a session to resume. If the agent cannot resume it, a new session is opened. */
  readonly resume?: string;
  readonly modeId?: string;
  /** Data for this agent only, sent as `_meta` of the request that opens the session. */
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
  /** Asks the agent to end its turn, and cancels its approval requests. `prompt` settles if the agent obeys. */
  cancel(): Promise<void>;
  /** Ends the agent's process. Pending calls reject with an AgentError whose cause is `reason`. */
  end(reason: Error): void;
  /** Resolves with the reason when the agent has ended. Never rejects. */
  readonly closed: Promise<AgentError>;
}

/** Decides what happens to updates of a session. */
interface SessionState {
  id: string | undefined;
  muted: boolean;
}

/** Initializes the connection to a program. If it rejects with AgentError, the program has been killed. */
export async function openAgent(options: AgentOptions): Promise<Agent> {
  const { program, cwd, initializeMs, onUpdate, onPermission, onNotice, authMethod } = options;
  const session: SessionState = { id: undefined, muted: false };
  const approvalRequests = createApprovalRequests(onPermission);
  const peer = createPeer({
    input: program.stdout,
    output: program.stdin,
    onNotification: (method, { sessionId, update }) => {
      if (method !== 'session/update' || session.muted || !isUpdate(update)) return;
      if (session.id === undefined || session.id === sessionId) return onUpdate(update);
      options.onOtherUpdate?.(update);
    },
    onRequest: async (method, params) => {
      if (method === 'session/request_permission') return approvalRequests.request(params);
      throw new RpcError(rpcCodes.methodNotFound, `${quote(method)} is not supported.`);
    },
    onGarbage: () => onNotice?.('The agent wrote lines that are not messages. They are ignored.'),
  });
  const closed = watchEnd(program, peer).finally(approvalRequests.cancelAll);

  const request = createTimedRequest(peer, initializeMs);
  const capabilities = await initialize(request, authMethod).catch(async (error: unknown) => {
    await program.kill();
    throw toRefusal(error, 'to start');
  });

  const prompt = createPrompt(peer, session, recordsTurns(capabilities));
  return {
    capabilities,
    closed,
    end: peer.giveUp,
    openSession: (options) => open({ ...options, cwd, capabilities }, request, session),
    prompt: (blocks, turn) => {
      approvalRequests.beginTurn();
      return prompt(blocks, turn);
    },
    cancel: async () => {
      if (session.id !== undefined) peer.notify('session/cancel', { sessionId: session.id });
      approvalRequests.cancelAll();
    },
  };
}

function isUpdate(value: unknown): value is SessionUpdate {
  return isObject(value) && typeof value['sessionUpdate'] === 'string';
}

type OpenOptions = SessionOptions & Pick<AgentOptions, 'cwd'> & Pick<Agent, 'capabilities'>;

async function open(
  wanted: OpenOptions,
  request: TimedRequest,
  session: SessionState,
): Promise<OpenedSession> {
  const mute = (on: boolean) => {
    session.muted = on;
  };
  try {
    const opened = await openSession({ ...wanted, request, mute });
    session.id = opened.sessionId;
    return opened;
  } catch (error) {
    throw toRefusal(error, 'to open a session');
  }
}

function createPrompt(peer: Peer, session: SessionState, notes: boolean): Agent['prompt'] {
  let isRunning = false;
  return async (blocks, turn) => {
    if (session.id === undefined || isRunning)
      throw new Error('there is no session, or a turn is in progress');
    isRunning = true;
    try {
      const numbered = notes && turn !== undefined ? withTurn(turn) : {};
      const params = { sessionId: session.id, prompt: blocks, ...numbered };
      return toTurnEnd(await peer.request('session/prompt', params));
    } catch (error) {
      throw toRefusal(error, 'the message');
    } finally {
      isRunning = false;
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
    return new AgentError('auth_needed', `The agent requires a login: ${error.message}`);
  return new AgentError('refused', `The agent refused ${what}: ${error.message}`);
}
