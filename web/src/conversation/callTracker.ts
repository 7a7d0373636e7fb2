// Tracks the tool calls of a timeline: each is one item from its action to its observation, with its approval request.
import type { ParleyEvent } from '../../../src/client/parley.ts';
import { beginCall, type CallEvent, endCall, isResult, isThought, questionOf } from './calls.ts';
import type { Answer, Call, CallItem, Item, Question } from './items.ts';

export function commonFields({ id, timestamp, replayed = false }: ParleyEvent) {
  return { id, at: timestamp === '' ? undefined : timestamp, replayed };
}

/** Adds calls to `items`, and updates them by replacing the item. */
export function createCallTracker(items: Item[]) {
  /** The index of each call by its id, until that id is used again. */
  const callAt = new Map<string, number>();
  /** The indexes of calls that have not ended. */
  const open = new Set<number>();
  let asking: number | undefined;

  const itemAt = (index: number) => items[index] as CallItem;

  function replace(index: number, part: Partial<Call>): void {
    const item = itemAt(index);
    const call = { ...item.call, ...part };
    items[index] = { ...item, call };
    if (call.outcome === undefined) open.add(index);
    else open.delete(index);
  }

  function question(): Question | undefined {
    return asking === undefined ? undefined : itemAt(asking).call.question;
  }

  function answer(given: Answer, at?: string): void {
    const asked = question();
    if (asked === undefined || asking === undefined) return;
    const since = at ?? itemAt(asking).call.since;
    replace(asking, { question: { ...asked, answer: given }, since });
    asking = undefined;
  }

  function ask(index: number): void {
    if (asking !== index) answer('closed');
    asking = index;
  }

  function begin(event: CallEvent): void {
    const index = items.length;
    const call = beginCall(event);
    items.push({ ...commonFields(event), kind: 'call', call });
    replace(index, isResult(event) ? endCall(call, event) : call);
    if (event.tool_call_id !== '') callAt.set(event.tool_call_id, index);
    if (call.question !== undefined) ask(index);
  }

  /** A call may be announced first, and ask for approval later. */
  function update(index: number, event: CallEvent): void {
    const { question: before } = itemAt(index).call;
    const call = beginCall(event);
    replace(index, { ...call, question: call.question ?? before });
    if (call.question !== undefined) ask(index);
  }

  function add(event: CallEvent): void {
    const known = event.tool_call_id === '' ? undefined : callAt.get(event.tool_call_id);
    if (known !== undefined && isResult(event)) {
      if (asking === known) answer('closed');
      replace(known, endCall(itemAt(known).call, event));
    } else if (known !== undefined && open.has(known)) update(known, event);
    else if (event.type === 'observation.user_rejected') return;
    else if (known !== undefined || questionOf(event) !== undefined || !isThought(event)) begin(event);
  }

  function abandonOpenCalls(): void {
    for (const index of open) replace(index, { outcome: 'unfinished' });
  }

  return { add, answer, abandonOpenCalls, question };
}
