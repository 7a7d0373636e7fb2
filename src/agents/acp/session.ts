// Opens a new session, or resumes an old one as well as the agent can.
import type { AgentCapabilities, McpServer } from '@agentclientprotocol/sdk';
import { isObject, textOf } from '../../text/foreignText.ts';
import { AgentError, quote } from './errors.ts';
import type { TimedRequest } from './initialize.ts';
import { type Params, RpcError } from './peer.ts';
import { type RecordedTurn, turnIn } from './recordedTurns.ts';

const sessionIdLengthMax = 1_000;
const shownModesMax = 20;

export interface OpenedSession {
  readonly sessionId: string;
  /** `new` although an old one was requested means that the agent has lost the history. */
  readonly how: 'new' | 'loaded' | 'resumed';
  /** The last turn that the agent recorded in this session; undefined if it does not record turns. */
  readonly recordedTurn: RecordedTurn;
}

interface OpenOptions {
  readonly cwd: string;
  readonly mcpServers: readonly McpServer[];
  readonly resume?: string;
  readonly modeId?: string;
  readonly meta?: Params;
  readonly capabilities: AgentCapabilities;
  readonly request: TimedRequest;
  /** Ignores updates while the agent repeats the history, which is in the log already. */
  mute(on: boolean): void;
}

type Opened = Omit<OpenedSession, 'recordedTurn'> & { readonly response: Params };

/** Returns undefined if the agent refuses. Other errors are thrown. */
async function tryRequest(options: OpenOptions, method: string, params: Params): Promise<Params | undefined> {
  try {
    return await options.request(method, params);
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}

async function resumeSession(
  options: OpenOptions,
  sessionId: string,
  params: Params,
): Promise<Opened | undefined> {
  const { loadSession, sessionCapabilities } = options.capabilities;
  if (sessionCapabilities?.resume != null) {
    const response = await tryRequest(options, 'session/resume', { sessionId, ...params });
    if (response !== undefined) return { sessionId, how: 'resumed', response };
  }
  if (loadSession !== true) return undefined;
  options.mute(true);
  try {
    const response = await tryRequest(options, 'session/load', { sessionId, ...params });
    return response && { sessionId, how: 'loaded', response };
  } finally {
    options.mute(false);
  }
}

/** The id must be storable: PostgreSQL rejects NUL characters in text. */
function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= sessionIdLengthMax && !/\p{Cc}|\p{Cs}/u.test(value);
}

async function createSession({ request }: OpenOptions, params: Params): Promise<Opened> {
  const response = await request('session/new', params);
  const { sessionId } = response;
  if (!isSessionId(sessionId))
    throw new AgentError('protocol', 'The agent opened a session without a usable id.');
  return { sessionId, how: 'new', response };
}

function listOf(value: unknown): Params[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Newer agents have their modes in the options of a session. */
async function chooseMode({ request, modeId }: OpenOptions, { sessionId, response }: Opened): Promise<void> {
  if (modeId === undefined) return;
  const modes = isObject(response['modes']) ? response['modes'] : {};
  const available = listOf(modes['availableModes']);
  if (available.some(({ id }) => id === modeId)) {
    if (modes['currentModeId'] !== modeId) await request('session/set_mode', { sessionId, modeId });
    return;
  }
  const option = listOf(response['configOptions']).find(({ category }) => category === 'mode');
  if (listOf(option?.['options']).some(({ value }) => value === modeId)) {
    if (option?.['currentValue'] !== modeId)
      await request('session/set_config_option', { sessionId, configId: option?.['id'], value: modeId });
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
  const old = resume === undefined ? undefined : await resumeSession(options, resume, params);
  const opened = old ?? (await createSession(options, params));
  await chooseMode(options, opened);
  const { sessionId, how, response } = opened;
  return { sessionId, how, recordedTurn: how === 'new' ? undefined : turnIn(response) };
}
