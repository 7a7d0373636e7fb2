// Remembers what the user has expanded in a timeline, because items out of view are unmounted.
import { createContext, useContext, useState } from 'react';

export const Unfolded = createContext<Map<string, boolean>>(new Map());
/** The id of the surrounding item. */
export const ItemId = createContext(0);

/** Like `useState`, for a named part of the surrounding item. */
export function useUnfolded(part: string): [boolean, (open: boolean) => void] {
  const kept = useContext(Unfolded);
  const name = `${useContext(ItemId)} ${part}`;
  const [open, setOpen] = useState(kept.get(name) ?? false);
  return [
    open,
    (next) => {
      kept.set(name, next);
      setOpen(next);
    },
  ];
}
