// How long something goes on, second by second while it does.
import { useEffect, useState } from 'react';
import { lengthText } from '../texts/time.ts';

const secondMs = 1_000;

/** Nothing where it is not known when it began. */
export function Elapsed({ since }: { readonly since: string | undefined }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), secondMs);
    return () => clearInterval(timer);
  }, []);
  const text = lengthText(since, now);
  return text === '' ? null : <span className="elapsed">{text}</span>;
}
