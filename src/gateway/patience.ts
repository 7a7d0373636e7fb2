// For how long an answer is waited for: it must go on, and come to an end.
import type { GatewayTimes } from './times.ts';

/** Why it is waited for no longer. */
export type Impatience = 'silent' | 'too_late';

export interface Patience {
  /** Something came. Without data it is a sign of life that counts for a while only. */
  heard(hasData: boolean): void;
  /** Whoever is slow from here on, it is not the provider. */
  hold(): void;
  goOn(): void;
  end(): void;
}

/** Calls back once, unless it is ended before. */
export function createPatience(times: GatewayTimes, onEnd: (why: Impatience) => void): Patience {
  const { firstByteMs, silenceMs, keptAliveMs, answerMs } = times;
  const all = setTimeout(() => onEnd('too_late'), answerMs);
  let dataAt = performance.now();
  let waitMs = 0;
  let timer: NodeJS.Timeout | undefined;

  function wait(ms: number): void {
    if (ms === waitMs && timer !== undefined) return void timer.refresh();
    clearTimeout(timer);
    waitMs = ms;
    timer = setTimeout(() => onEnd('silent'), ms);
  }
  function hold(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  wait(firstByteMs);

  return {
    heard: (hasData) => {
      const now = performance.now();
      if (hasData) dataAt = now;
      wait(hasData ? silenceMs : Math.max(0, Math.min(silenceMs, dataAt + keptAliveMs - now)));
    },
    hold,
    goOn: () => {
      dataAt = performance.now();
      wait(silenceMs);
    },
    end: () => {
      hold();
      clearTimeout(all);
    },
  };
}
