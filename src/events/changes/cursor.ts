// The cursor of a change, as subscribers send it back: its time, its transaction and its number.
import type { ChangePosition } from './store.ts';

export function cursorOf({ at, transaction, id }: ChangePosition): string {
  return `${at}.${transaction}.${id}`;
}

/** Returns undefined if the text is not a valid cursor. */
export function parseCursor(text: string): ChangePosition | undefined {
  const [, at, transaction, id] = /^(\d{1,15})\.(\d{1,20})\.(\d{1,15})$/.exec(text) ?? [];
  return at === undefined || transaction === undefined || id === undefined
    ? undefined
    : { at: Number(at), transaction, id: Number(id) };
}

type PositionOrder = Pick<ChangePosition, 'transaction' | 'id'>;

export function comparePositions(a: PositionOrder, b: PositionOrder): number {
  const apart = BigInt(a.transaction) - BigInt(b.transaction);
  return apart === 0n ? a.id - b.id : apart < 0n ? -1 : 1;
}

export function compareCursors(a: string, b: string): number {
  const [first, second] = [parseCursor(a), parseCursor(b)];
  return first === undefined || second === undefined ? 0 : comparePositions(first, second);
}
