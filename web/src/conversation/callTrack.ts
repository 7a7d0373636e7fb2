// The calls of a timeline: each is one thing from its action to its observation, with the question in between.
import type { ParleyEvent } from '../../../src/client/parley.ts';
import { beginCall, type CallEvent, endCall, isResult, isThought, questionOf } from './calls.ts';
import type { Answer, Call, CallItem, Item, Question } from './items.ts';

/** What all things of a timeline have. */
export function commonOf({ id, timestamp, replayed = false }: ParleyEvent) {
  return { id, at: timestamp === '' ? undefined : timestamp, replayed };
}

/** Puts calls into `items`, and changes those that it has put there by replacing them. */
export function createCallTrack(items: Item[]) {
  /** Where each call stands, by its id, until the next use of that id. */
  const callAt = new Map<string, number>();
  /** Where those stand that have not ended. */
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
    items.push({ ...commonOf(event), kind: 'call', call });
    replace(index, isResult(event) ? endCall(call, event) : call);
    if (event.tool_call_id !== '') callAt.set(event.tool_call_id, index);
    if (call.question !== undefined) ask(index);
  }

  /** An action that asks may be of a call that was announced before. */
  function goOn(index: number, event: CallEvent): void {
    const { question: before } = itemAt(index).call;
    const call = beginCall(event);
    replace(index, { ...call, question: call.question ?? before });
    if (call.question !== undefined) ask(index);
  }

  function take(event: CallEvent): void {
    const known = event.tool_call_id === '' ? undefined : callAt.get(event.tool_call_id);
    if (known !== undefined && isResult(event)) {
      if (asking === known) answer('closed');
      replace(known, endCall(itemAt(known).call, event));
    } else if (known !== undefined && open.has(known)) goOn(known, event);
    else if (event.type === 'observation.user_rejected') return;
    else if (known !== undefined || questionOf(event) !== undefined || !isThought(event)) begin(event);
  }

  /** Nobody works on them any more. */
  function giveUp(): void {
    for (const index of open) replace(index, { outcome: 'unfinished' });
  }

  return { take, answer, giveUp, question };
}
