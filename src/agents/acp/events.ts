// Turns the ACP updates of a session into events of the log. It joins chunks, leaves out noise and limits the number of
// events of a turn.
import type { Outcome, TaskStatus } from '../../events/decoder/words.ts';
import { errorEvent, notice, userRejected } from '../../events/shapes.ts';
import type { NewEvent } from '../../events/vocabulary/vocabulary.ts';
import { isObject, textOf } from '../../text/foreignText.ts';
import type { MaskedStream } from '../../text/secretValues.ts';
import { kib } from '../../validation/schema.ts';
import type { OutputField } from '../profileSchema.ts';
import { isNotice } from './agentNotices.ts';
import { type Approval, approvalOf } from './approval.ts';
import { cutText, cutValue, type Mask, textOfBlock, unmaskedStream } from './bounds.ts';
import { type CallConfirmation, toAction, toObservation } from './callEvents.ts';
import { callIdOf } from './callFields.ts';
import { createLiveOutput } from './liveOutput.ts';
import type { Params } from './peer.ts';
import { createSpeech, type LiveSpeech, type Part } from './speech.ts';
import { hasEnded, mergeCall, type ToolCall } from './toolCall.ts';
import type { SessionUpdate } from './update.ts';

const updateBytesMax = 16 * kib;
const noticeBytesMax = 4 * kib;
const planEntriesMax = 100;
const planTextBytesMax = kib;
const commandsMax = 100;
const commandTextBytesMax = 256;
const currencyLengthMax = 3;
const openCallsMax = 100;
const endedCallsMax = 1_000;
const eventsPerTurnDefault = 2_000;

interface MapperOptions {
  readonly mask?: Mask;
  /** Masks a text that arrives in chunks, like `mask`. */
  readonly maskStream?: () => MaskedStream;
  /** Receives text while it is written. */
  readonly live?: LiveSpeech;
  /** Names of the MCP servers of the agent, to recognize calls of their tools. */
  readonly mcpServers?: readonly string[];
  /** Where the agent puts the output of commands, if it fills several fields. */
  readonly output?: OutputField | undefined;
  /** Whether calls need approval. If so, a call is logged with its approval request and not before. */
  readonly needsApproval?: () => boolean;
  /** Further events are left out with a note in the log, except for the last message of the turn. */
  readonly eventsPerTurnMax?: number;
}

export interface EventMapper {
  take(update: SessionUpdate): NewEvent[];
  /** Returns what is buffered: whole lines of the current message, and announced calls. */
  flush(): NewEvent[];
  /** Returns the announced tool kind of a call in progress. */
  kindOf(toolCallId: string): string | undefined;
  /** Whether the agent has sent an input, content or diff for a call. */
  isDescribed(toolCall: Params): boolean;
  /** A text that changes when the agent describes the call differently; undefined if the call is not in progress. */
  descriptionOf(toolCallId: string): string | undefined;
  /** What the user would see in an approval request for this call. */
  approval(toolCall: Params): Approval;
  /** Logs a call that needs approval or was allowed. Its action is the last event. */
  announceCall(toolCall: Params, confirmation: CallConfirmation): NewEvent[];
  /** The user rejected the call. */
  reject(toolCall: Params): NewEvent[];
  /** Returns the last events of a turn. */
  end(): NewEvent[];
}

/** Updates that are recorded elsewhere, or that no reader of a log needs. */
const ignored: readonly string[] = ['user_message_chunk', 'session_info_update', 'compaction_summary_chunk'];

const messageParts: ReadonlyMap<unknown, Part['kind']> = new Map([
  ['agent_message_chunk', 'message'],
  ['agent_thought_chunk', 'think'],
]);

const taskStatuses: ReadonlyMap<unknown, TaskStatus> = new Map([
  ['pending', 'todo'],
  ['in_progress', 'in_progress'],
  ['completed', 'done'],
]);

function toPlan({ entries }: Params, mask: Mask): NewEvent {
  const known = (Array.isArray(entries) ? entries : []).filter(isObject).slice(0, planEntriesMax);
  const taskList = known.map(({ content, status }, i) => ({
    id: String(i + 1),
    title: cutText(mask(textOf(content)), planTextBytesMax),
    status: taskStatuses.get(status) ?? ('todo' as const),
    notes: '',
  }));
  return {
    source: 'agent',
    message: '',
    action: 'task_tracking',
    args: { command: 'plan', task_list: taskList },
  };
}

function toUsage({ used, size, cost }: Params): NewEvent {
  const { amount, currency } = isObject(cost) ? cost : {};
  const numberOr = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : null);
  const price =
    typeof amount === 'number' && Number.isFinite(amount) && typeof currency === 'string'
      ? { amount, currency }
      : null;
  return {
    source: 'agent',
    message: '',
    observation: 'usage',
    content: '',
    extras: {
      used: numberOr(used),
      size: numberOr(size),
      cost: price === null || price.currency.length > currencyLengthMax ? null : price,
    },
  };
}

function toOther(update: SessionUpdate, mask: Mask): NewEvent {
  const extras = { update: cutValue(update, updateBytesMax, mask) };
  return { source: 'agent', message: '', observation: 'agent_update', content: '', extras };
}

/** The commands that a user of the agent can type, for clients that offer them. */
function toCommands({ sessionUpdate, availableCommands }: SessionUpdate, mask: Mask): NewEvent {
  const shown = (value: unknown) => cutText(mask(textOf(value)), commandTextBytesMax);
  const known = (Array.isArray(availableCommands) ? availableCommands : []).filter(isObject);
  const commands = known.slice(0, commandsMax).map(({ name, description, input }) => ({
    name: shown(name),
    description: shown(description),
    input: isObject(input) ? { hint: shown(input['hint'] ?? '') } : null,
  }));
  const extras = { update: { sessionUpdate, availableCommands: commands } };
  return { source: 'agent', message: '', observation: 'agent_update', content: '', extras };
}

/** Says whose words these are, because every other notice comes from the service. */
function toNotice(content: unknown, mask: Mask): NewEvent {
  return notice(cutText(mask(`The agent reports: ${textOfBlock(content)}`), noticeBytesMax));
}

function tooMany(max: number): NewEvent {
  return errorEvent(
    'TOO_MANY_EVENTS',
    `The agent caused more than ${max} events in one turn. The rest of the turn is not in this log.`,
  );
}

interface OpenCall {
  readonly call: ToolCall;
  readonly isLogged: boolean;
  readonly isRejected?: boolean;
}

/** Agents report a rejected call as failed, but the log already has the rejection. */
function isRepeated({ call, isRejected = false }: OpenCall, outcome: Outcome): boolean {
  return isRejected && outcome !== 'completed' && call.exitCode === undefined;
}

export function createEventMapper(options: MapperOptions = {}): EventMapper {
  const {
    mask = (text) => text,
    maskStream = unmaskedStream,
    live,
    eventsPerTurnMax = eventsPerTurnDefault,
    needsApproval = () => false,
  } = options;
  const context = { mask, mcpServers: options.mcpServers ?? [], output: options.output };
  const speech = createSpeech(maskStream, live);
  const output =
    live === undefined ? undefined : createLiveOutput({ mask, maskStream }, live.texts, options.output);
  const calls = new Map<string, OpenCall>();
  const endedCalls = new Set<string>();
  /** The last event of each kind that is logged only if it has changed. */
  const last = new Map<string, string>();
  let usage: NewEvent | undefined;
  let count = 0;
  let limitReported = false;

  /** Takes back what was shown of events that are left out. */
  function dropPartials(events: readonly NewEvent[]): void {
    for (const event of events) {
      if ('partial' in event && event.partial !== undefined) live?.texts.drop('message', event.partial.of);
      else if ('observation' in event && 'tool_call_id' in event) output?.drop(event.tool_call_id);
    }
  }

  /** `last` is kept anyway, by the caller. */
  function withinLimit(events: readonly NewEvent[], last: readonly NewEvent[] = []): NewEvent[] {
    const kept = events.slice(0, eventsPerTurnMax - count);
    count += kept.length;
    dropPartials(events.slice(kept.length).filter((event) => !last.includes(event)));
    if (kept.length === events.length || limitReported) return kept;
    limitReported = true;
    return [...kept, tooMany(eventsPerTurnMax)];
  }

  function onChange(kind: string, event: NewEvent): NewEvent[] {
    const text = JSON.stringify(event);
    if (last.get(kind) === text) return [];
    last.set(kind, text);
    return [event];
  }

  function endCall(open: OpenCall, outcome: Outcome): NewEvent[] {
    const { call, isLogged } = open;
    calls.delete(call.id);
    endedCalls.add(call.id);
    const [oldest] = endedCalls;
    if (endedCalls.size > endedCallsMax && oldest !== undefined) endedCalls.delete(oldest);
    const isLeftOut = isRepeated(open, outcome);
    output?.end(call.id, isLeftOut);
    if (isLeftOut) return [];
    return [...(isLogged ? [] : [toAction(call)]), toObservation(call, outcome)];
  }

  function takeCall(update: Params): NewEvent[] {
    const id = callIdOf(update);
    if (id === undefined || endedCalls.has(id)) return [];
    const open = calls.get(id);
    const call = mergeCall(open?.call, id, update, context);
    if (hasEnded(call)) return endCall({ isLogged: false, ...open, call }, call.status as 'completed');
    const begins = call.status === 'in_progress' && !open?.isLogged && !needsApproval();
    const isLogged = begins || (open?.isLogged ?? false);
    calls.set(id, { ...open, call, isLogged });
    if (isLogged && call.status === 'in_progress' && !limitReported) output?.add(id, update);
    return [...closeOldest(), ...(begins ? [toAction(call)] : [])];
  }

  function approvalFor(toolCall: Params) {
    const id = callIdOf(toolCall);
    if (id === undefined) return undefined;
    const known = calls.get(id)?.call;
    const merged = mergeCall(known, id, { ...toolCall, status: undefined }, context);
    return { known, merged, approval: approvalOf(known, merged, toolCall, mask) };
  }

  function closeOldest(): NewEvent[] {
    const [oldest] = calls.values();
    return calls.size > openCallsMax && oldest !== undefined ? endCall(oldest, 'unfinished') : [];
  }

  function takeOther(update: SessionUpdate): NewEvent[] {
    const { sessionUpdate: kind } = update;
    if (kind === 'tool_call' || kind === 'tool_call_update') return takeCall(update);
    if (kind === 'plan') return onChange(kind, toPlan(update, mask));
    if (kind !== 'usage_update') return onChange('other', toOther(update, mask));
    usage = toUsage(update);
    return [];
  }

  return {
    take: (update) => {
      const { sessionUpdate: kind, content, messageId } = update;
      if (ignored.includes(kind)) return [];
      if (isNotice(update)) return withinLimit([...speech.end(), toNotice(content, mask)]);
      const part = messageParts.get(kind);
      if (part !== undefined) return withinLimit(speech.add({ kind: part, content, messageId }));
      // An action ends the current message, but these do not.
      if (kind === 'usage_update') return takeOther(update);
      if (kind === 'available_commands_update') return withinLimit(onChange(kind, toCommands(update, mask)));
      return withinLimit([...speech.end(), ...takeOther(update)]);
    },
    flush: () => {
      const announced = [...calls].filter(([, { isLogged }]) => !isLogged);
      for (const [id, { call }] of announced) calls.set(id, { call, isLogged: true });
      return withinLimit([...speech.flush(), ...announced.map(([, { call }]) => toAction(call))]);
    },
    kindOf: (toolCallId) => calls.get(callIdOf({ toolCallId }) ?? '')?.call.kind,
    isDescribed: (toolCall) => {
      const { input, output, diff } = approvalFor(toolCall)?.merged ?? {};
      return input !== undefined || Boolean(output) || Boolean(diff);
    },
    descriptionOf: (toolCallId) => {
      const call = calls.get(callIdOf({ toolCallId }) ?? '')?.call;
      if (call === undefined) return undefined;
      const { kind, title, mcpTool, input, path, diff, locations } = call;
      return JSON.stringify([kind, title, mcpTool, input, path, diff, locations]);
    },
    approval: (toolCall) => approvalFor(toolCall)?.approval ?? { fault: 'it has no id' },
    announceCall: (toolCall, confirmation) => {
      const found = approvalFor(toolCall);
      if (found === undefined) return [];
      const { call, request } =
        'fault' in found.approval ? { call: found.merged, request: {} } : found.approval;
      const wasLogged = calls.get(call.id)?.isLogged === true;
      // The content of the approval request is not output of the call.
      const output = found.known?.output ?? '';
      calls.set(call.id, { call: { ...call, output }, isLogged: true });
      const action = toAction(call, confirmation, request);
      const before = [...speech.end(), ...closeOldest()];
      // Some agents report a call as in progress before they request approval. It is not logged twice then.
      if (confirmation.state === 'confirmed') return withinLimit([...before, ...(wasLogged ? [] : [action])]);
      // An approval request is always logged, even beyond the limit.
      return [...withinLimit(before), action];
    },
    reject: (toolCall) => {
      const id = callIdOf(toolCall);
      if (id === undefined) return [];
      const open = calls.get(id);
      if (open !== undefined) calls.set(id, { ...open, isRejected: true });
      return [userRejected(id)];
    },
    end: () => {
      const lastWords = speech.end();
      const unfinished = [...calls.values()].flatMap((open) => endCall(open, 'unfinished'));
      const used = usage === undefined ? [] : onChange('usage', usage);
      const events = withinLimit([...lastWords, ...unfinished, ...used], lastWords);
      const lost = lastWords.filter((event) => !events.includes(event));
      [usage, count, limitReported] = [undefined, 0, false];
      return [...events, ...lost];
    },
  };
}
