// Tracks the tool calls of a timeline: each is one item from its action to its observation, with its approval request.
import type { OpenText, ParleyEvent } from '../../../../src/client/parley.ts';
import type { Answer, ApprovalRequest, Call, CallItem, Item } from '../items.ts';
import { approvalOf, beginCall, type CallEvent, endCall, isResult, isThought } from './calls.ts';

export function commonFields({ id, timestamp, replayed = false }: ParleyEvent) {
  return { id, at: timestamp === '' ? undefined : timestamp, replayed };
}

/** Adds calls to `items`, and updates them by replacing the item. */
export function createCallTracker(items: Item[]) {
  /** The index of each call by its id, until that id is used again. */
  const indexById = new Map<string, number>();
  /** The indexes of calls that have not ended. */
  const open = new Set<number>();
  /** The index of the call whose approval request is open. */
  let pending: number | undefined;

  const itemAt = (index: number) => items[index] as CallItem;

  function replace(index: number, part: Partial<Call>, endId?: number): void {
    const item = itemAt(index);
    const call = { ...item.call, ...part };
    items[index] = { ...item, call, ...(endId === undefined ? {} : { endId }) };
    if (call.outcome === undefined) open.add(index);
    else open.delete(index);
  }

  function pendingApproval(): ApprovalRequest | undefined {
    return pending === undefined ? undefined : itemAt(pending).call.approval;
  }

  function answer(given: Answer, at?: string): void {
    const approval = pendingApproval();
    if (approval === undefined || pending === undefined) return;
    const since = at ?? itemAt(pending).call.since;
    replace(pending, { approval: { ...approval, answer: given }, since });
    pending = undefined;
  }

  function setPending(index: number): void {
    if (pending !== index) answer('closed');
    pending = index;
  }

  function begin(event: CallEvent): void {
    const index = items.length;
    const call = beginCall(event);
    items.push({ ...commonFields(event), kind: 'call', call });
    replace(index, isResult(event) ? endCall(call, event) : call);
    if (event.tool_call_id !== '') indexById.set(event.tool_call_id, index);
    if (call.approval !== undefined) setPending(index);
  }

  /** A call may be announced first, and ask for approval later. */
  function update(index: number, event: CallEvent): void {
    const { approval: before } = itemAt(index).call;
    const call = beginCall(event);
    replace(index, { ...call, approval: call.approval ?? before });
    if (call.approval !== undefined) setPending(index);
  }

  function add(event: CallEvent): void {
    const known = event.tool_call_id === '' ? undefined : indexById.get(event.tool_call_id);
    if (known !== undefined && isResult(event)) {
      if (pending === known) answer('closed');
      replace(known, endCall(itemAt(known).call, event), event.id);
    } else if (known !== undefined && open.has(known)) update(known, event);
    else if (event.type === 'observation.user_rejected') return;
    else if (known !== undefined || approvalOf(event) !== undefined || !isThought(event)) begin(event);
  }

  function abandonOpenCalls(): void {
    for (const index of open) replace(index, { outcome: 'unfinished' });
  }

  /** Shows the output of a running call in a copy of the items. */
  function showOutput(shown: Item[], { of, from, text }: OpenText): void {
    const index = indexById.get(of);
    if (index === undefined || !open.has(index)) return;
    const item = itemAt(index);
    shown[index] = { ...item, call: { ...item.call, output: from > 0 ? `…${text}` : text } };
  }

  return { add, answer, abandonOpenCalls, pendingApproval, showOutput };
}
