// The calls of a timeline: each is one thing from its action to its observation, with the question in between.
import type { ParleyEvent } from '../../../src/client/parley.ts';
import { beginCall, endCall, questionOf } from './calls.ts';
import type { Answer, Call, CallItem, Item, Question } from './items.ts';

type Members = Readonly<Record<string, unknown>>;

/** What all things of a timeline have. */
export function commonOf(event: ParleyEvent) {
  const replayed = (event as Members)['replayed'] === true;
  return { id: event.id, at: event.timestamp, replayed };
}

function isAside({ args, extras }: ParleyEvent): boolean {
  return ((args ?? extras ?? {}) as Members)['kind'] === 'think';
}

function idOf(event: ParleyEvent): string | undefined {
  const id = (event as Members)['tool_call_id'];
  return typeof id === 'string' ? id : undefined;
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

  function end(index: number, event: ParleyEvent): void {
    if (asking === index) answer('closed');
    replace(index, endCall(itemAt(index).call, event));
  }

  function begin(event: ParleyEvent, tool: Call['tool']): void {
    const index = items.length;
    const call = beginCall(event, tool);
    items.push({ ...commonOf(event), kind: 'call', call });
    replace(index, event.observation === undefined ? call : endCall(call, event));
    const id = idOf(event);
    if (id !== undefined) callAt.set(id, index);
    if (call.question !== undefined) ask(index);
  }

  /** An action that asks may be of a call that was announced before. */
  function goOn(index: number, event: ParleyEvent, tool: Call['tool']): void {
    const { question: before } = itemAt(index).call;
    const call = beginCall(event, tool);
    replace(index, { ...call, question: call.question ?? before });
    if (call.question !== undefined) ask(index);
  }

  function take(event: ParleyEvent, tool: Call['tool']): void {
    const id = idOf(event);
    const known = id === undefined ? undefined : callAt.get(id);
    if (known !== undefined && event.observation !== undefined) end(known, event);
    else if (known !== undefined && open.has(known)) goOn(known, event, tool);
    // Plans and the like are told by events of their own.
    else if (known !== undefined || questionOf(event) !== undefined || !isAside(event)) begin(event, tool);
  }

  /** Nobody works on them any more. */
  function giveUp(): void {
    for (const index of open) replace(index, { outcome: 'unfinished' });
  }

  return { take, answer, giveUp, question };
}
