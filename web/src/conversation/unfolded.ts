// What somebody has unfolded in a timeline. It is kept above the list, for what is out of sight is not on the page.
import { createContext, useContext, useState } from 'react';

export const Unfolded = createContext<Map<string, boolean>>(new Map());
/** Which thing of the timeline something is in. */
export const ItemId = createContext(0);

/** As `useState`, by the name of the part within its thing. */
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
