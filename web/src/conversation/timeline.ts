// Puts the events of a log together to a timeline, one after the other. What it has given out never changes: a thing
// that goes on is replaced by another with the same id.
import type { ParleyEvent } from '../../../src/client/parley.ts';
import { isCallEvent } from './calls.ts';
import { commonOf, createCallTrack } from './callTrack.ts';
import type { Item, LogState } from './items.ts';

type Of<Type extends ParleyEvent['type']> = Extract<ParleyEvent, { readonly type: Type }>;

type Note = Of<'observation.notice' | 'observation.workspace_removed' | 'observation.error'>;

const notes: ReadonlySet<ParleyEvent['type']> = new Set<Note['type']>([
  'observation.notice',
  'observation.workspace_removed',
  'observation.error',
]);

function isNote(event: ParleyEvent): event is Note {
  return notes.has(event.type);
}

interface Timeline {
  take(event: ParleyEvent): void;
  items(): readonly Item[];
  state(): LogState;
}

function messageOf(event: Of<'action.message'>, waits: boolean): Item {
  const { content, image_urls: images } = event.args;
  return {
    ...commonOf(event),
    kind: 'message',
    from: event.source === 'user' ? 'user' : 'agent',
    text: content || event.message,
    images: images.filter((url) => url !== ''),
    waits,
  };
}

/** States in which a question that was not answered no longer waits. */
const pastQuestions: ReadonlySet<string> = new Set([
  'running',
  'stopped',
  'paused',
  'awaiting_user_input',
  'loading',
]);
/** States in which no call goes on: one that has not ended by then never will. */
const pastCalls: ReadonlySet<string> = new Set(['stopped', 'paused', 'awaiting_user_input', 'loading']);

/** States in which the agent is at something, so that what is said waits. */
const turnStates: ReadonlySet<string> = new Set([
  'running',
  'awaiting_user_confirmation',
  'user_confirmed',
  'user_rejected',
]);

export function createTimeline(): Timeline {
  const items: Item[] = [];
  const calls = createCallTrack(items);
  let planAt: number | undefined;
  /** Where what waits stands. */
  let waiting: number[] = [];
  let state: Omit<LogState, 'question'> = { agentState: '', tasks: [], context: undefined };

  function takePlan(event: Of<'action.task_tracking'>): void {
    const tasks = event.args.task_list.map(({ title, status }) => ({ title, status }));
    state = { ...state, tasks };
    const before = planAt === undefined ? undefined : items[planAt];
    if (before !== undefined && planAt !== undefined)
      items[planAt] = { ...before, kind: 'plan', tasks } as Item;
    else {
      planAt = items.length;
      items.push({ ...commonOf(event), kind: 'plan', tasks });
    }
  }

  function takeMessage(event: Of<'action.message'>): void {
    const own = event.source === 'user';
    const waits = own && turnStates.has(state.agentState);
    if (own) planAt = undefined;
    if (waits) waiting.push(items.length);
    items.push(messageOf(event, waits));
  }

  function endWaits(): void {
    for (const index of waiting) items[index] = { ...items[index], waits: false } as Item;
    waiting = [];
  }

  function takeState(event: Of<'observation.agent_state_changed'>): void {
    const { agent_state: agentState, reason } = event.extras;
    if (pastQuestions.has(agentState)) calls.answer('closed');
    if (pastCalls.has(agentState)) calls.giveUp();
    if (!turnStates.has(agentState)) endWaits();
    state = { ...state, agentState };
    if (agentState !== 'stopped' && agentState !== 'paused') return;
    const last = items.at(-1);
    // A fault was told in full just before.
    const told = last?.kind === 'error' && last.text.startsWith(reason);
    if (!told) items.push({ ...commonOf(event), kind: 'stopped', text: reason });
  }

  function takeUsage({ extras }: Of<'observation.usage'>): void {
    const { used, size } = extras;
    if (used !== null && size !== null) state = { ...state, context: { used, size } };
  }

  function takeNote(event: Note): void {
    const kind = event.type === 'observation.error' ? 'error' : 'notice';
    items.push({ ...commonOf(event), kind, text: event.content || event.message });
  }

  /** What is not known is passed over: there may be newer services than this page. */
  function take(event: ParleyEvent): void {
    if (isCallEvent(event)) calls.take(event);
    else if (event.type === 'action.message') takeMessage(event);
    else if (event.type === 'action.think')
      items.push({ ...commonOf(event), kind: 'thought', text: event.args.thought });
    else if (event.type === 'action.task_tracking') takePlan(event);
    else if (event.type === 'action.change_agent_state')
      calls.answer(event.args.decision, event.timestamp || undefined);
    else if (event.type === 'observation.agent_state_changed') takeState(event);
    else if (event.type === 'observation.usage') takeUsage(event);
    else if (isNote(event)) takeNote(event);
  }

  return {
    take,
    items: () => items.slice(),
    state: () => ({ ...state, question: calls.question() }),
  };
}
