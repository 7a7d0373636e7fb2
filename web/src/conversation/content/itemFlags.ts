// Flags of timeline items, such as whether one is expanded. They outlive the components, because items out of view are
// unmounted.
import { createContext, useContext, useEffect, useState } from 'react';

export const ItemFlags = createContext<Map<string, boolean>>(new Map());
/** The key of the surrounding item. */
export const ItemId = createContext<string | number>(0);

/** Whether a search has found the surrounding item: then everything of it is shown. */
export const IsRevealed = createContext(false);

/** Like `useState(false)`, for a flag of the surrounding item. */
export function useItemFlag(name: string): [boolean, (value: boolean) => void] {
  const flags = useContext(ItemFlags);
  const key = `${useContext(ItemId)} ${name}`;
  const [value, setValue] = useState(flags.get(key) ?? false);
  const isRevealed = useContext(IsRevealed);
  useEffect(() => {
    if (!isRevealed) return;
    flags.set(key, true);
    setValue(true);
  }, [isRevealed, flags, key]);
  return [
    value,
    (next) => {
      flags.set(key, next);
      setValue(next);
    },
  ];
}
