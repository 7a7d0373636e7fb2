// The place of a change as followers send it back: its time, its transaction, its number.
import type { ChangePlace } from './store.ts';

export function placeText({ at, transaction, id }: ChangePlace): string {
  return `${at}.${transaction}.${id}`;
}

/** Undefined where the text is none that was ever sent. */
export function readPlace(text: string): ChangePlace | undefined {
  const [, at, transaction, id] = /^(\d{1,15})\.(\d{1,20})\.(\d{1,15})$/.exec(text) ?? [];
  return at === undefined || transaction === undefined || id === undefined
    ? undefined
    : { at: Number(at), transaction, id: Number(id) };
}

type Order = Pick<ChangePlace, 'transaction' | 'id'>;

export function comparePlaces(a: Order, b: Order): number {
  const apart = BigInt(a.transaction) - BigInt(b.transaction);
  return apart === 0n ? a.id - b.id : apart < 0n ? -1 : 1;
}

export function compareCursors(a: string, b: string): number {
  const [first, second] = [readPlace(a), readPlace(b)];
  return first === undefined || second === undefined ? 0 : comparePlaces(first, second);
}
