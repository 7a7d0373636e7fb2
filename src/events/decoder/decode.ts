// Decodes events of any origin: adds `type`, and converts known fields to the types of the vocabulary. It has no
// dependencies, because the client and the web UI use it, too. A test compares its table with the vocabulary.
import { anything, type Fields, fieldsOf, integer, oneOf, orNothing, type Read, text } from './fields.ts';
import { costOf, exitCodeOf, metricsOf, partialOf, tasksOf } from './structures.ts';
import {
  agentStates,
  confirmationStates,
  decisions,
  eventSources,
  operations,
  outcomes,
  wantedStates,
} from './words.ts';

export interface Decoded extends Fields {
  readonly type: string;
}

type Table = Readonly<Record<string, Readonly<Record<string, Read>>>>;

const flag: Read = (value) => value === true;
const texts: Read = (value) => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []);
const numberOrNull: Read = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : null);

const call = {
  diff: orNothing(text, 'string'),
  thought: text,
  confirmation_state: oneOf(confirmationStates),
  security_risk: (value: unknown) => (value === 0 || value === 1 || value === 2 ? value : undefined),
  request: orNothing(fieldsOf, 'object'),
};
const file = { path: text, operation: oneOf(operations, 'edit') };
const tool = {
  name: text,
  kind: orNothing(text, 'string'),
  arguments: (value: unknown) => (value === undefined ? {} : value),
};
const outcome = { outcome: oneOf(outcomes, 'completed') };

/** An answer has a decision, and a cancellation has none. */
const decisionOf: Read = (value, { agent_state: state }) =>
  state === 'awaiting_user_input'
    ? undefined
    : oneOf(decisions, state === 'user_rejected' ? 'reject' : 'allow')(value, {});

export const actionFields: Table = {
  message: { content: text, image_urls: texts, file_urls: texts, wait_for_response: flag },
  think: { thought: text },
  run: { command: text, ...call },
  edit: { ...file, ...call },
  read: { path: text, ...call },
  browse: { url: text, ...call },
  call_tool_mcp: { ...tool, ...call },
  task_tracking: { command: () => 'plan', task_list: tasksOf },
  change_agent_state: { agent_state: oneOf(wantedStates), decision: decisionOf },
};

export const observationFields: Table = {
  agent_state_changed: { agent_state: oneOf(agentStates), reason: text },
  run: { command: text, metadata: exitCodeOf, ...outcome },
  edit: { ...file, prev_exist: orNothing(flag, 'boolean'), diff: text, ...outcome },
  read: { path: text, ...outcome },
  browse: { url: text, ...outcome },
  mcp: { ...tool, ...outcome },
  user_rejected: {},
  notice: { notice_id: orNothing(text, 'string') },
  error: { error_id: text },
  usage: { used: numberOrNull, size: numberOrNull, cost: costOf },
  agent_update: { update: anything },
  workspace_removed: {},
};

/** Events of tool calls always have a `tool_call_id`. It is empty if an imported log has none. */
const toolActions: ReadonlySet<string> = new Set(['run', 'edit', 'read', 'browse', 'call_tool_mcp']);
const toolObservations: ReadonlySet<string> = new Set([
  'run',
  'edit',
  'read',
  'browse',
  'mcp',
  'user_rejected',
]);

/** An event is unknown if this field is missing or has an unknown value. */
const required: ReadonlySet<string> = new Set(['agent_state']);

/** Names that earlier versions wrote. */
const formerNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  action: { call_tool: 'call_tool_mcp' },
  observation: { call_tool: 'mcp' },
};

/** Text that people read must not get lost, even if it is not a string. */
function shownText(value: unknown): string {
  if (typeof value === 'string' || value === undefined || value === null) return value ?? '';
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    // The value is nested too deeply.
    return '';
  }
}

/** Fields that any event may have. They are left out if they have another type. */
const optional: Readonly<Record<string, Read>> = {
  tool_call_id: orNothing(text, 'string'),
  cause: integer,
  replayed: orNothing(flag, 'boolean'),
  llm_metrics: metricsOf,
  partial: partialOf,
};

/** Reads the fields of the table. A field that is absent or has another type is left out, unless it has a default. */
function readFields(fields: Fields, table: Readonly<Record<string, Read>>): Fields {
  const read: Record<string, unknown> = { ...fields };
  for (const [name, readOne] of Object.entries(table)) {
    const value = readOne(Object.hasOwn(fields, name) ? fields[name] : undefined, fields);
    if (value === undefined) delete read[name];
    else read[name] = value;
  }
  return read;
}

function nameIn(fields: Fields, kind: 'action' | 'observation'): string | undefined {
  const name = Object.hasOwn(fields, kind) ? fields[kind] : undefined;
  if (typeof name !== 'string') return undefined;
  const former = formerNames[kind] ?? {};
  return Object.hasOwn(former, name) ? former[name] : name;
}

const ofOneKind: ReadonlySet<string> = new Set(['action', 'args', 'observation', 'content', 'extras']);

/** Reads the fields that actions and observations have in common. */
function headOf(fields: Fields): Fields {
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !ofOneKind.has(name)));
  return {
    ...readFields(rest, optional),
    id: integer(fields['id'], fields) ?? -1,
    timestamp: text(fields['timestamp'], fields),
    source: oneOf(eventSources, 'environment')(fields['source'], fields),
    message: shownText(fields['message']),
  };
}

/** Returns undefined if the name is not in the table or a required field is missing. */
function knownFields(table: Table, name: string, value: unknown): Fields | undefined {
  const known = Object.hasOwn(table, name) ? table[name] : undefined;
  if (known === undefined) return undefined;
  const read = readFields(fieldsOf(value, {}), known);
  return Object.keys(known).every((field) => !required.has(field) || field in read) ? read : undefined;
}

function unknown(head: Fields, fields: Fields): Decoded {
  const action = nameIn(fields, 'action');
  const observation = nameIn(fields, 'observation');
  return {
    ...head,
    ...(action === undefined ? {} : { action }),
    ...(observation === undefined ? {} : { observation }),
    args: fieldsOf(fields['args'], {}),
    content: shownText(fields['content']),
    extras: fieldsOf(fields['extras'], {}),
    type: 'unknown',
  };
}

/** Never throws. Anything that is not an event of the vocabulary gets the type `unknown`. */
export function decode(value: unknown): Decoded {
  const fields = fieldsOf(value, {}) as Fields;
  const head = headOf(fields);
  const action = nameIn(fields, 'action');
  if (action !== undefined) {
    const args = knownFields(actionFields, action, fields['args']);
    if (args === undefined) return unknown(head, fields);
    const call = toolActions.has(action) ? { tool_call_id: text(fields['tool_call_id']) } : {};
    return { ...head, ...call, action, args, type: `action.${action}` };
  }
  const observation = nameIn(fields, 'observation') ?? '';
  const extras = knownFields(observationFields, observation, fields['extras']);
  if (extras === undefined) return unknown(head, fields);
  const content = shownText(fields['content']);
  const call = toolObservations.has(observation) ? { tool_call_id: text(fields['tool_call_id']) } : {};
  return { ...head, ...call, observation, content, extras, type: `observation.${observation}` };
}
