// Hooks for the timing of the sidebar and the palette.
import { useEffect, useState } from 'react';

const debounceMs = 200;
const minuteMs = 60_000;

/** Returns the value when it has not changed for a moment, so that not every key press is a request. */
export function useDebounced<Value>(value: Value): Value {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), debounceMs);
    return () => clearTimeout(timer);
  }, [value]);
  return debounced;
}

/** Counts minutes, so that relative times such as "5 min" stay current. */
export function useMinute(): number {
  const [minute, setMinute] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setMinute((before) => before + 1), minuteMs);
    return () => clearInterval(timer);
  }, []);
  return minute;
}
