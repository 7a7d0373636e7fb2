// Builds the timeline from the events of a log. Items are immutable: an update replaces the item with the same id.
import type { OpenText, ParleyEvent } from '../../../../src/client/parley.ts';
import type { Item, LogState } from '../items.ts';
import { isCallEvent } from './calls.ts';
import { commonFields, createCallTracker } from './callTracker.ts';
import { createTextKeys, unfinishedItem } from './unfinished.ts';

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
  add(event: ParleyEvent): void;
  /** Returns the items, with what is still being written. */
  items(texts?: readonly OpenText[]): readonly Item[];
  state(): LogState;
}

function messageOf(event: Of<'action.message'>, isQueued: boolean): Item {
  const { content, image_urls: images, file_urls: files } = event.args;
  return {
    ...commonFields(event),
    kind: 'message',
    from: event.source === 'user' ? 'user' : 'agent',
    text: content || event.message,
    images: images.filter((url) => url !== ''),
    files: files.filter((path) => path !== ''),
    isQueued,
  };
}

/** In these states, an approval request is no longer pending. */
const statesWithoutApproval: ReadonlySet<string> = new Set([
  'running',
  'stopped',
  'paused',
  'awaiting_user_input',
  'loading',
]);
/** In these states no call is running; one that has not ended never will. */
const statesWithoutCalls: ReadonlySet<string> = new Set([
  'stopped',
  'paused',
  'awaiting_user_input',
  'loading',
]);

/** In these states a message of the user is queued until the end of the turn. */
const turnStates: ReadonlySet<string> = new Set([
  'running',
  'awaiting_user_confirmation',
  'user_confirmed',
  'user_rejected',
]);

export function createTimeline(): Timeline {
  const items: Item[] = [];
  const calls = createCallTracker(items);
  const keys = createTextKeys();
  let planAt: number | undefined;
  /** The indexes of queued messages. */
  let queued: number[] = [];
  let state: Omit<LogState, 'approval'> = { agentState: '', tasks: [], context: undefined };

  function addPlan(event: Of<'action.task_tracking'>): void {
    const tasks = event.args.task_list.map(({ title, status }) => ({ title, status }));
    state = { ...state, tasks };
    const before = planAt === undefined ? undefined : items[planAt];
    if (before !== undefined && planAt !== undefined)
      items[planAt] = { ...before, kind: 'plan', tasks } as Item;
    else {
      planAt = items.length;
      items.push({ ...commonFields(event), kind: 'plan', tasks });
    }
  }

  function addMessage(event: Of<'action.message'>): void {
    const isFromUser = event.source === 'user';
    const isQueued = isFromUser && turnStates.has(state.agentState);
    if (isFromUser) planAt = undefined;
    if (isQueued) queued.push(items.length);
    items.push({ ...messageOf(event, isQueued), ...keys.ofEvent(event) });
  }

  function deliverQueued(): void {
    for (const index of queued) items[index] = { ...items[index], isQueued: false } as Item;
    queued = [];
  }

  function addState(event: Of<'observation.agent_state_changed'>): void {
    const { agent_state: agentState, reason } = event.extras;
    if (statesWithoutApproval.has(agentState)) calls.answer('closed');
    if (statesWithoutCalls.has(agentState)) calls.abandonOpenCalls();
    if (!turnStates.has(agentState)) deliverQueued();
    state = { ...state, agentState };
    if (agentState !== 'stopped' && agentState !== 'paused') return;
    const last = items.at(-1);
    // The error before it has the same text.
    const isShown = last?.kind === 'error' && last.text.startsWith(reason);
    if (!isShown) items.push({ ...commonFields(event), kind: 'stopped', text: reason });
  }

  function addUsage({ extras }: Of<'observation.usage'>): void {
    const { used, size } = extras;
    if (used !== null && size !== null) state = { ...state, context: { used, size } };
  }

  function addNote(event: Note): void {
    const kind = event.type === 'observation.error' ? 'error' : 'notice';
    items.push({ ...commonFields(event), kind, text: event.content || event.message });
  }

  /** Ignores unknown events: the service may be newer than the web UI. */
  function add(event: ParleyEvent): void {
    if (isCallEvent(event)) calls.add(event);
    else if (event.type === 'action.message') addMessage(event);
    else if (event.type === 'action.think')
      items.push({
        ...commonFields(event),
        ...keys.ofEvent(event),
        kind: 'thought',
        text: event.args.thought,
      });
    else if (event.type === 'action.task_tracking') addPlan(event);
    else if (event.type === 'action.change_agent_state')
      // A cancellation, which has no decision, rejects what waits.
      calls.answer(event.args.decision ?? 'reject', event.timestamp || undefined);
    else if (event.type === 'observation.agent_state_changed') addState(event);
    else if (event.type === 'observation.usage') addUsage(event);
    else if (isNote(event)) addNote(event);
  }

  return {
    add,
    items: (texts = []) => {
      const shown = items.slice();
      for (const text of texts) {
        if (text.kind === 'output') calls.showOutput(shown, text);
        else if (text.text.trim() !== '') shown.push(unfinishedItem(text, keys.ofText(text)));
      }
      return shown;
    },
    state: () => ({ ...state, approval: calls.pendingApproval() }),
  };
}
