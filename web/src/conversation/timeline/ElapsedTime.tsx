// The time since something began, updated every second.
import { useEffect, useState } from 'react';
import { durationText } from '../../texts/time.ts';

const secondMs = 1_000;

/** Renders nothing if the start is not known. */
export function ElapsedTime({ since }: { readonly since: string | undefined }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), secondMs);
    return () => clearInterval(timer);
  }, []);
  const text = durationText(since, now);
  return text === '' ? null : <span className="elapsed">{text}</span>;
}
