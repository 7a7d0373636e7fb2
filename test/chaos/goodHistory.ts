// A history that is as it should be, and the parts that it is made of: for tests of the checker.
import { canaryOf, type FinalConversation, type History, type Operation } from './history.ts';

type Fields = Readonly<Record<string, unknown>>;

export const agentMark = (agent: string, number: number) =>
  JSON.stringify({ source: 'agent', observation: 'run', content: `agent-${agent}#${number}\n` });
export const state = (name: string) =>
  JSON.stringify({
    source: 'environment',
    observation: 'agent_state_changed',
    extras: { agent_state: name },
  });
export const said = (token: string) =>
  JSON.stringify({
    source: 'user',
    action: 'message',
    args: { content: `work 1 1\n${token} ${canaryOf('anna')}` },
  });

export const log = [
  said('token-anna-0'),
  state('running'),
  agentMark('aa', 1),
  agentMark('aa', 2),
  state('awaiting_user_input'),
  said('token-anna-1'),
  state('running'),
  agentMark('bb', 1),
  state('awaiting_user_input'),
];

export const events = (texts: readonly string[]) => texts.map((text, id) => ({ id, text }));

export const conversation: FinalConversation = {
  user: 'anna',
  key: 1,
  id: 'c1',
  status: 'RUNNING',
  stopCode: null,
  runId: 'run',
  turnOpen: false,
  heard: 6,
  nextEvent: log.length,
  events: events(log),
};

let count = 0;
export function operation(fields: Fields, fromMs: number, toMs: number): Operation {
  return {
    n: count++,
    user: 'anna',
    process: 'all',
    invokedMs: fromMs,
    endedMs: toMs,
    outcome: 'ok',
    status: 200,
    code: null,
    owners: [],
    ...fields,
  } as unknown as Operation;
}

export const setting = (value: string, fromMs: number, toMs: number, more: Fields = {}) =>
  operation(
    {
      kind: 'write-setting',
      field: 'email',
      value,
      base: null,
      version: null,
      seen: null,
      ...more,
    },
    fromMs,
    toMs,
  );
export const reading = (value: string | null, fromMs: number, toMs: number) =>
  operation({ kind: 'read-settings', version: 0, values: { email: value } }, fromMs, toMs);
export const secret = (description: string, fromMs: number, toMs: number, more: Fields = {}) =>
  operation({ kind: 'write-secret', name: 'ALPHA', description, how: 'update', ...more }, fromMs, toMs);
export const forgetting = (fromMs: number, toMs: number) =>
  operation({ kind: 'delete-secret', name: 'ALPHA' }, fromMs, toMs);
export const listing = (secrets: Record<string, string>, fromMs: number, toMs: number) =>
  operation({ kind: 'read-secrets', secrets }, fromMs, toMs);
export const creation = (more: Fields = {}) =>
  operation(
    {
      kind: 'create',
      token: 'token-anna-0',
      id: null,
      idempotencyKey: 'k',
      answered: 'c1',
      ...more,
    },
    0,
    10,
  );
export const message = (more: Fields = {}) =>
  operation({ kind: 'message', conversation: 'c1', token: 'token-anna-1', answered: 3, ...more }, 20, 30);

export const line = (agent: string, at: number, kind: 'start' | 'beat' | 'prompt', text?: string) => ({
  agent,
  atNs: String(at),
  kind,
  ...(text === undefined ? {} : { text }),
});

export const status = (name: string) =>
  JSON.stringify({ type: 'conversation.status', data: { conversation_id: 'c1', status: name } });
export const told = (id: number) =>
  JSON.stringify({ type: 'conversation.event', data: { conversation_id: 'c1', event: { id } } });

export function goodHistory(): History {
  return {
    database: 'sqlite',
    operations: [
      creation(),
      message(),
      setting('one', 0, 10),
      setting('two', 20, 30),
      reading('two', 40, 50),
      secret('first', 0, 10),
      listing({ ALPHA: 'first' }, 20, 30),
    ],
    faults: [],
    exits: [{ process: 'all', atMs: 5, code: null, signal: 'SIGKILL', cause: 'SIGKILL', lastWords: '' }],
    streams: [
      {
        user: 'anna',
        conversation: 'c1',
        connections: 2,
        frames: log.map((text, id) => ({ id: String(id), event: 'message', text })),
      },
      {
        user: 'anna',
        conversation: undefined,
        connections: 1,
        frames: ['STARTING', 'RUNNING'].map((name, i) => ({
          id: `${i}.0.0`,
          event: 'message',
          text: JSON.stringify({ conversation_id: 'c1', status: name }),
        })),
      },
    ],
    arrivals: [
      ...log.map((_, id) => ({ user: 'anna', id: `msg_${id}`, text: told(id) })),
      // A repetition under the same id is allowed.
      { user: 'anna', id: 'msg_0', text: told(0) },
      { user: 'anna', id: 'msg_starting', text: status('STARTING') },
      { user: 'anna', id: 'msg_running', text: status('RUNNING') },
    ],
    users: [
      { name: 'anna', version: 3, settings: { email: 'two' }, secrets: { ALPHA: 'first' }, hasAgent: true },
    ],
    conversations: [conversation],
    workspaces: [
      {
        user: 'anna',
        conversation: 'c1',
        lines: [
          line('aa', 1, 'start'),
          line('aa', 2, 'prompt', 'work 1 1\ntoken-anna-0'),
          line('aa', 3, 'beat'),
          line('bb', 4, 'start'),
          line('bb', 5, 'prompt', 'work 1 1\ntoken-anna-1'),
        ],
      },
    ],
    strays: 0,
    overdueDeliveries: [],
    leftBehind: [],
  };
}
