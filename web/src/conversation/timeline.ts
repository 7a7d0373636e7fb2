// Puts the events of a log together to a timeline, one after the other. What it has given out never changes: a thing
// that goes on is replaced by another with the same id.
import type { ParleyEvent } from '../../../src/client/parley.ts';
import { textOf, toolOf } from './calls.ts';
import { commonOf, createCallTrack } from './callTrack.ts';
import { membersIn, shapedEvent } from './events.ts';
import type { Item, LogState, Task } from './items.ts';

type Members = Readonly<Record<string, unknown>>;

interface Timeline {
  take(event: ParleyEvent): void;
  items(): readonly Item[];
  state(): LogState;
}

const taskStatuses: readonly string[] = ['todo', 'in_progress', 'done'];

function tasksOf(args: Members): Task[] {
  return membersIn(args['task_list']).map((task) => {
    const status = textOf(task['status']);
    return {
      title: textOf(task['title']),
      status: taskStatuses.includes(status) ? (status as Task['status']) : 'todo',
    };
  });
}

function messageOf(event: ParleyEvent, waits: boolean): Item {
  const args = (event.args ?? {}) as Members;
  const images = Array.isArray(args['image_urls']) ? args['image_urls'].map(textOf) : [];
  return {
    ...commonOf(event),
    kind: 'message',
    from: event.source === 'user' ? 'user' : 'agent',
    text: textOf(args['content']) || event.message,
    images: images.filter((url) => url !== ''),
    waits,
  };
}

/** States in which a question that was not answered no longer waits. */
const pastQuestions: ReadonlySet<string> = new Set(['running', 'stopped', 'awaiting_user_input', 'loading']);
/** States in which no call goes on: one that has not ended by then never will. */
const pastCalls: ReadonlySet<string> = new Set(['stopped', 'awaiting_user_input', 'loading']);

/** States in which the agent is at something, so that what is said waits. */
const turnStates: ReadonlySet<string> = new Set([
  'running',
  'awaiting_user_confirmation',
  'user_confirmed',
  'user_rejected',
]);

function answerOf(args: Members) {
  if (args['agent_state'] === 'user_rejected') return 'reject';
  if (args['agent_state'] !== 'user_confirmed') return undefined;
  return args['decision'] === 'allow_always' ? 'allow_always' : 'allow';
}

export function createTimeline(): Timeline {
  const items: Item[] = [];
  const calls = createCallTrack(items);
  let planAt: number | undefined;
  /** Where what waits stands. */
  let waiting: number[] = [];
  let state: Omit<LogState, 'question'> = { agentState: '', tasks: [], context: undefined };

  function takePlan(event: ParleyEvent): void {
    const tasks = tasksOf((event.args ?? {}) as Members);
    state = { ...state, tasks };
    const before = planAt === undefined ? undefined : items[planAt];
    if (before !== undefined && planAt !== undefined)
      items[planAt] = { ...before, kind: 'plan', tasks } as Item;
    else {
      planAt = items.length;
      items.push({ ...commonOf(event), kind: 'plan', tasks });
    }
  }

  function takeMessage(event: ParleyEvent): void {
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

  function takeState(event: ParleyEvent): void {
    const extras = (event.extras ?? {}) as Members;
    const agentState = textOf(extras['agent_state']);
    const reason = textOf(extras['reason']);
    if (pastQuestions.has(agentState)) calls.answer('closed');
    if (pastCalls.has(agentState)) calls.giveUp();
    if (!turnStates.has(agentState)) endWaits();
    state = { ...state, agentState };
    if (agentState !== 'stopped') return;
    const last = items.at(-1);
    // A fault was told in full just before.
    const told = last?.kind === 'error' && last.text.startsWith(reason);
    if (!told) items.push({ ...commonOf(event), kind: 'stopped', text: reason });
  }

  function takeUsage({ extras = {} }: ParleyEvent): void {
    const { used, size } = extras as Members;
    if (typeof used === 'number' && typeof size === 'number') state = { ...state, context: { used, size } };
  }

  function takeNote(kind: 'notice' | 'error') {
    return (event: ParleyEvent) =>
      void items.push({ ...commonOf(event), kind, text: event.content ?? event.message });
  }

  const observations: Readonly<Record<string, (event: ParleyEvent) => void>> = {
    agent_state_changed: takeState,
    usage: takeUsage,
    notice: takeNote('notice'),
    workspace_removed: takeNote('notice'),
    error: takeNote('error'),
  };

  const actions: Readonly<Record<string, (event: ParleyEvent) => void>> = {
    message: takeMessage,
    think: (event) => {
      const text = textOf((event.args as Members | undefined)?.['thought']);
      items.push({ ...commonOf(event), kind: 'thought', text });
    },
    task_tracking: takePlan,
    change_agent_state: ({ args = {}, timestamp }) => {
      const answer = answerOf(args as Members);
      if (answer !== undefined) calls.answer(answer, timestamp);
    },
  };

  return {
    take: (told) => {
      const event = shapedEvent(told);
      const tool = toolOf(event);
      if (tool !== undefined) return calls.take(event, tool);
      const kinds = event.action === undefined ? observations : actions;
      const name = event.action ?? event.observation ?? '';
      // What is not known is passed over: there may be newer services than this page.
      if (Object.hasOwn(kinds, name)) kinds[name]?.(event);
    },
    items: () => items.slice(),
    state: () => ({ ...state, question: calls.question() }),
  };
}
