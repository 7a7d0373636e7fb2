// How a session comes to be: a new one, or an old one that goes on as well as the agent can.
import type { AgentCapabilities, McpServer } from '@agentclientprotocol/sdk';
import { isObject, textOf } from '../../text/foreignText.ts';
import { AgentError, quote } from './errors.ts';
import type { Ask } from './initialize.ts';
import { type NotedTurn, turnIn } from './notedTurns.ts';
import { type Params, RpcError } from './peer.ts';

const sessionIdLengthMax = 1_000;
const shownModesMax = 20;

export interface OpenedSession {
  readonly sessionId: string;
  /** `new` where an old one was wanted: the agent no longer knows what was said. */
  readonly how: 'new' | 'loaded' | 'resumed';
  /** The last turn that the agent recorded in this session; undefined if it does not record turns. */
  readonly notedTurn: NotedTurn;
}

interface OpenOptions {
  readonly cwd: string;
  readonly mcpServers: readonly McpServer[];
  readonly resume?: string;
  readonly modeId?: string;
  readonly meta?: Params;
  readonly capabilities: AgentCapabilities;
  readonly ask: Ask;
  /** While the history is told again, which the log has already. */
  mute(on: boolean): void;
}

type Opened = Omit<OpenedSession, 'notedTurn'> & { readonly answer: Params };

/** Undefined where the agent refuses; whatever else fails is thrown. */
async function tryAsk(options: OpenOptions, method: string, params: Params): Promise<Params | undefined> {
  try {
    return await options.ask(method, params);
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}

async function goOn(options: OpenOptions, sessionId: string, params: Params): Promise<Opened | undefined> {
  const { loadSession, sessionCapabilities } = options.capabilities;
  if (sessionCapabilities?.resume != null) {
    const answer = await tryAsk(options, 'session/resume', { sessionId, ...params });
    if (answer !== undefined) return { sessionId, how: 'resumed', answer };
  }
  if (loadSession !== true) return undefined;
  options.mute(true);
  try {
    const answer = await tryAsk(options, 'session/load', { sessionId, ...params });
    return answer && { sessionId, how: 'loaded', answer };
  } finally {
    options.mute(false);
  }
}

/** The id must be storable: PostgreSQL rejects NUL characters in text. */
function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= sessionIdLengthMax && !/\p{Cc}|\p{Cs}/u.test(value);
}

async function begin({ ask }: OpenOptions, params: Params): Promise<Opened> {
  const answer = await ask('session/new', params);
  const { sessionId } = answer;
  if (!isSessionId(sessionId))
    throw new AgentError('protocol', 'The agent opened a session without a usable id.');
  return { sessionId, how: 'new', answer };
}

function listOf(value: unknown): Params[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Newer agents have their modes among the options of a session. */
async function chooseMode({ ask, modeId }: OpenOptions, { sessionId, answer }: Opened): Promise<void> {
  if (modeId === undefined) return;
  const modes = isObject(answer['modes']) ? answer['modes'] : {};
  const available = listOf(modes['availableModes']);
  if (available.some(({ id }) => id === modeId)) {
    if (modes['currentModeId'] !== modeId) await ask('session/set_mode', { sessionId, modeId });
    return;
  }
  const option = listOf(answer['configOptions']).find(({ category }) => category === 'mode');
  if (listOf(option?.['options']).some(({ value }) => value === modeId)) {
    if (option?.['currentValue'] !== modeId)
      await ask('session/set_config_option', { sessionId, configId: option?.['id'], value: modeId });
    return;
  }
  const known = available
    .slice(0, shownModesMax)
    .map(({ id }) => quote(textOf(id)))
    .join(', ');
  throw new AgentError('protocol', `The agent has no mode ${quote(modeId)}; it has ${known || 'none'}.`);
}

export async function openSession(options: OpenOptions): Promise<OpenedSession> {
  const { cwd, mcpServers, resume, meta } = options;
  const params = { cwd, mcpServers, ...(meta === undefined ? {} : { _meta: meta }) };
  const old = resume === undefined ? undefined : await goOn(options, resume, params);
  const opened = old ?? (await begin(options, params));
  await chooseMode(options, opened);
  const { sessionId, how, answer } = opened;
  return { sessionId, how, notedTurn: how === 'new' ? undefined : turnIn(answer) };
}
