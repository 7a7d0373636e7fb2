// Scrolls to the item of an event, and opens the group that it is folded into.
import type { Virtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Item } from '../items.ts';
import { indexOfEvent, type Row } from './rows.ts';

interface JumpOptions {
  readonly items: readonly Item[];
  readonly rows: readonly Row[];
  readonly list: Pick<Virtualizer<HTMLDivElement, Element>, 'scrollToIndex'>;
  readonly leaveEnd: () => void;
  readonly openGroup: (id: number) => void;
}

/** Returns the row of the item; or, if a group hides it, the id of that group. */
function findRow(rows: readonly Row[], item: Item): { row: number } | { group: number } | undefined {
  const row = rows.findIndex((one) => one.kind === 'item' && one.item.id === item.id);
  if (row !== -1) return { row };
  const group = rows.findLast((one) => one.kind === 'group' && one.id <= item.id);
  return group?.kind === 'group' ? { group: group.id } : undefined;
}

/** `shownItem` is the id of the item that was jumped to last. */
export function useJump({ items, rows, list, leaveEnd, openGroup }: JumpOptions) {
  const [target, setTarget] = useState<{ readonly eventId: number }>();
  const [shownItem, setShownItem] = useState<number>();
  const done = useRef<typeof target>(undefined);

  useEffect(() => {
    if (target === undefined || done.current === target) return;
    const index = indexOfEvent(items, target.eventId);
    const item = index === undefined ? items[0] : items[index];
    const found = item && findRow(rows, item);
    if (item === undefined || found === undefined) return;
    leaveEnd();
    // The next render has the rows of the group.
    if ('group' in found) openGroup(found.group);
    else {
      done.current = target;
      setShownItem(item.id);
      list.scrollToIndex(found.row, { align: 'center' });
    }
  }, [target, items, rows, list, leaveEnd, openGroup]);

  const jump = useCallback((eventId: number) => setTarget({ eventId }), []);
  return { jump, shownItem };
}
