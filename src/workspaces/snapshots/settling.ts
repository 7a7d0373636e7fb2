// Waits until the user has stopped changing files, within bounds.
import type { Clock, Timer } from '../../process/clock.ts';
import { restFactor, settleMs, settleMsMax } from './bounds.ts';

export interface Settling {
  /** Something has changed. `onSettled` is called later, once for all changes until then. */
  changed(): void;
  /** Forgets the changes. */
  cancel(): void;
  /** The work took so long; changes that follow wait accordingly. */
  worked(ms: number): void;
}

export function createSettling(clock: Pick<Clock, 'steady' | 'after'>, onSettled: () => void): Settling {
  let first: number | undefined;
  let timer: Timer | undefined;
  let restedAt = 0;

  function cancel(): void {
    timer?.stop();
    timer = undefined;
    first = undefined;
  }

  return {
    changed: () => {
      const now = clock.steady();
      timer?.stop();
      first ??= now;
      const at = Math.max(Math.min(now + settleMs, first + settleMsMax), restedAt);
      timer = clock.after(at - now, () => {
        cancel();
        onSettled();
      });
    },
    cancel,
    worked: (ms) => (restedAt = clock.steady() + ms * restFactor),
  };
}
