// Puts the events of a log together to a timeline, one after the other. What it has given out never changes: a thing
// that goes on is replaced by another with the same id.
import type { ParleyEvent } from '../../../src/client/parley.ts';
import { beginCall, endCall, questionOf, textOf, toolOf } from './calls.ts';
import type { Answer, CallItem, Item, LogState, Question, Task } from './items.ts';

type Members = Readonly<Record<string, unknown>>;

export interface Timeline {
  take(event: ParleyEvent): void;
  items(): readonly Item[];
  state(): LogState;
}

const taskStatuses: readonly string[] = ['todo', 'in_progress', 'done'];

function tasksOf(args: Members): Task[] {
  const list = Array.isArray(args['task_list']) ? (args['task_list'] as Members[]) : [];
  return list.map((task) => {
    const status = textOf(task['status']);
    return {
      title: textOf(task['title']),
      status: taskStatuses.includes(status) ? (status as Task['status']) : 'todo',
    };
  });
}

function common(event: ParleyEvent) {
  const replayed = (event as Members)['replayed'] === true;
  return { id: event.id, at: event.timestamp, replayed };
}

function messageOf(event: ParleyEvent): Item {
  const args = (event.args ?? {}) as Members;
  const images = Array.isArray(args['image_urls']) ? args['image_urls'].map(textOf) : [];
  return {
    ...common(event),
    kind: 'message',
    from: event.source === 'user' ? 'user' : 'agent',
    text: textOf(args['content']) || event.message,
    images: images.filter((url) => url !== ''),
  };
}

function isAside({ args, extras }: ParleyEvent): boolean {
  return ((args ?? extras ?? {}) as Members)['kind'] === 'think';
}

/** States in which a question that was not answered no longer waits. */
const pastQuestions: ReadonlySet<string> = new Set(['running', 'stopped', 'awaiting_user_input', 'loading']);

export function createTimeline(): Timeline {
  const items: Item[] = [];
  /** Where each call stands, by its id, until the next use of that id. */
  const callAt = new Map<string, number>();
  let asking: number | undefined;
  let planAt: number | undefined;
  let state: LogState = { agentState: '', question: undefined, tasks: [], context: undefined };

  function callIndex(event: ParleyEvent): number | undefined {
    const id = (event as Members)['tool_call_id'];
    return typeof id === 'string' ? callAt.get(id) : undefined;
  }

  function answer(given: Answer): void {
    const item = asking === undefined ? undefined : (items[asking] as CallItem);
    if (item?.call.question === undefined || asking === undefined) return;
    const question: Question = { ...item.call.question, answer: given };
    items[asking] = { ...item, call: { ...item.call, question } };
    asking = undefined;
    state = { ...state, question: undefined };
  }

  function ask(index: number, question: Question): void {
    answer('closed');
    asking = index;
    state = { ...state, question };
  }

  function takeCall(event: ParleyEvent, tool: CallItem['call']['tool']): void {
    const known = callIndex(event);
    const before = known === undefined ? undefined : (items[known] as CallItem);
    if (event.observation !== undefined && before !== undefined && known !== undefined) {
      if (asking === known) answer('closed');
      const item = items[known] as CallItem;
      items[known] = { ...item, call: endCall(item.call, event) };
      return;
    }
    const question = questionOf(event);
    // Plans and the like are told by events of their own.
    if (question === undefined && before === undefined && isAside(event)) return;
    // An action that asks may be of a call that was announced before.
    if (before !== undefined && known !== undefined && before.call.outcome === undefined) {
      items[known] = {
        ...before,
        call: { ...beginCall(event, tool), question: question ?? before.call.question },
      };
      if (question !== undefined) ask(known, question);
      return;
    }
    const call = beginCall(event, tool);
    const index = items.length;
    items.push({
      ...common(event),
      kind: 'call',
      call: event.observation === undefined ? call : endCall(call, event),
    });
    const id = (event as Members)['tool_call_id'];
    if (typeof id === 'string') callAt.set(id, index);
    if (question !== undefined) ask(index, question);
  }

  function takePlan(event: ParleyEvent): void {
    const tasks = tasksOf((event.args ?? {}) as Members);
    state = { ...state, tasks };
    const before = planAt === undefined ? undefined : items[planAt];
    if (before !== undefined && planAt !== undefined)
      items[planAt] = { ...before, kind: 'plan', tasks } as Item;
    else {
      planAt = items.length;
      items.push({ ...common(event), kind: 'plan', tasks });
    }
  }

  function takeState(event: ParleyEvent): void {
    const extras = (event.extras ?? {}) as Members;
    const agentState = textOf(extras['agent_state']);
    const reason = textOf(extras['reason']);
    if (pastQuestions.has(agentState)) answer('closed');
    state = { ...state, agentState };
    if (agentState !== 'stopped') return;
    const last = items.at(-1);
    // A fault was told in full just before.
    const told = last?.kind === 'error' && last.text.startsWith(reason);
    if (!told) items.push({ ...common(event), kind: 'stopped', text: reason });
  }

  function takeUsage({ extras = {} }: ParleyEvent): void {
    const { used, size } = extras as Members;
    if (typeof used === 'number' && typeof size === 'number') state = { ...state, context: { used, size } };
  }

  const observations: Readonly<Record<string, (event: ParleyEvent) => void>> = {
    agent_state_changed: takeState,
    usage: takeUsage,
    notice: (event) => items.push({ ...common(event), kind: 'notice', text: event.content ?? event.message }),
    workspace_removed: (event) => items.push({ ...common(event), kind: 'notice', text: event.content ?? '' }),
    error: (event) => items.push({ ...common(event), kind: 'error', text: event.content ?? event.message }),
  };

  const actions: Readonly<Record<string, (event: ParleyEvent) => void>> = {
    message: (event) => {
      const item = messageOf(event);
      if (event.source === 'user') planAt = undefined;
      items.push(item);
    },
    think: (event) =>
      items.push({
        ...common(event),
        kind: 'thought',
        text: textOf((event.args as Members | undefined)?.['thought']),
      }),
    task_tracking: takePlan,
    change_agent_state: (event) => {
      const args = (event.args ?? {}) as Members;
      const always = args['decision'] === 'allow_always';
      if (args['agent_state'] === 'user_rejected') answer('reject');
      else if (args['agent_state'] === 'user_confirmed') answer(always ? 'allow_always' : 'allow');
    },
  };

  return {
    take: (event) => {
      const tool = toolOf(event);
      if (tool !== undefined) return takeCall(event, tool);
      const kinds = event.action === undefined ? observations : actions;
      const name = event.action ?? event.observation ?? '';
      // What is not known is passed over: there may be newer services than this page.
      if (Object.hasOwn(kinds, name)) kinds[name]?.(event);
    },
    items: () => items.slice(),
    state: () => state,
  };
}
