// The rows of a timeline. Runs of finished tool calls are folded into one row each; the last call stays visible.
import { type Item, keyOf } from '../items.ts';
import { summarize, type WorkSummary } from './summary.ts';

/** The events that the user has not seen before: those after `from`, up to `to`. */
export interface Away {
  readonly from: number;
  readonly to: number;
}

export type Row =
  | { readonly kind: 'item'; readonly key: string | number; readonly item: Item; readonly isInGroup: boolean }
  | {
      readonly kind: 'group';
      readonly key: string;
      /** The id of its first event, which stays the same while the group grows. */
      readonly id: number;
      readonly at: string | undefined;
      readonly summary: WorkSummary;
      readonly isOpen: boolean;
    }
  | {
      readonly kind: 'away';
      readonly key: string;
      readonly at: string | undefined;
      readonly summary: WorkSummary;
    };

export interface RowOptions {
  /** The ids of open groups. */
  readonly openGroups: ReadonlySet<number>;
  readonly away: Away | undefined;
}

/** Fewer calls are not folded. */
const groupCallsMin = 2;

function isFoldable(item: Item | undefined): boolean {
  if (item?.kind === 'thought') return item.isUnfinished !== true;
  return item?.kind === 'call' && item.call.outcome !== undefined;
}

/** The index of the first item after the event. Items are sorted by their first event; unfinished ones come last. */
export function indexAfter(items: readonly Item[], eventId: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const id = items[middle]?.id ?? -1;
    if (id >= 0 && id <= eventId) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the item that shows an event; undefined if the event is before all items. */
export function indexOfEvent(items: readonly Item[], eventId: number): number | undefined {
  const byEnd = items.findIndex(
    (item) => item.kind === 'call' && (item.endId === eventId || item.call.approval?.event === eventId),
  );
  if (byEnd !== -1) return byEnd;
  const index = indexAfter(items, eventId) - 1;
  return index < 0 ? undefined : index;
}

/** The end of the run of foldable items that begins at `from`. The last item of the timeline stays visible if it is a call. */
function endOfRun(items: readonly Item[], from: number, divider: number): number {
  let end = from;
  const last = items.length - (items.at(-1)?.kind === 'call' ? 1 : 0);
  while (end < last && isFoldable(items[end]) && (end === from || end !== divider)) end++;
  return end;
}

function itemRow(item: Item, isInGroup: boolean): Row {
  return { kind: 'item', key: keyOf(item), item, isInGroup };
}

/** The rows of the items from `start` on, up to `end`. */
function groupRows(items: readonly Item[], start: number, end: number, open: ReadonlySet<number>): Row[] {
  const run = items.slice(start, end);
  const [first] = run;
  const calls = run.filter(({ kind }) => kind === 'call').length;
  if (first === undefined || calls < groupCallsMin) return run.map((item) => itemRow(item, false));
  const isOpen = open.has(first.id);
  const { id, at } = first;
  const head: Row = { kind: 'group', key: `group ${id}`, id, at, summary: summarize(run), isOpen };
  return isOpen ? [head, ...run.map((item) => itemRow(item, true))] : [head];
}

function firstDifference(a: readonly Item[], b: readonly Item[]): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a[at] === b[at]) at++;
  return at;
}

/** Returns a function that computes the rows, and computes again only those of items that have changed. */
export function createRows(): (items: readonly Item[], options: RowOptions) => readonly Row[] {
  let items: readonly Item[] = [];
  let rows: readonly Row[] = [];
  let options: RowOptions | undefined;
  /** Where each run or single item begins. */
  let parts: { readonly item: number; readonly row: number }[] = [];

  /** Keeps what is before the first change, except for the run before it, which may have grown. */
  function keepUnchanged(next: readonly Item[], divided: { after: number; until: number } | undefined) {
    let changed = Math.min(firstDifference(items, next), Math.max(0, items.length - 1));
    // The divider summarizes all items up to `until`.
    if (divided !== undefined && changed < divided.until) changed = Math.min(changed, divided.after);
    let kept = parts.length;
    while (kept > 0 && (parts[kept - 1]?.item ?? 0) >= changed) kept--;
    kept = Math.max(0, kept - 2);
    const start = parts[kept] ?? { item: 0, row: 0 };
    parts = parts.slice(0, kept);
    return start;
  }

  return (next, wanted) => {
    const isSame = options?.openGroups === wanted.openGroups && options.away === wanted.away;
    if (isSame && items === next) return rows;
    if (!isSame) parts = [];
    const { away } = wanted;
    const divided = away && { after: indexAfter(next, away.from), until: indexAfter(next, away.to) };
    const { after = -1, until = -1 } = divided ?? {};
    const start = isSame ? keepUnchanged(next, divided) : { item: 0, row: 0 };
    const found = rows.slice(0, start.row);
    for (let at = start.item; at < next.length; ) {
      parts.push({ item: at, row: found.length });
      const item = next[at] as Item;
      if (at === after && at > 0 && until > at)
        found.push({ kind: 'away', key: 'away', at: item.at, summary: summarize(next.slice(at, until)) });
      const end = endOfRun(next, at, after);
      if (end > at) for (const row of groupRows(next, at, end, wanted.openGroups)) found.push(row);
      else found.push(itemRow(item, false));
      at = Math.max(end, at + 1);
    }
    [items, rows, options] = [next, found, wanted];
    return rows;
  };
}
