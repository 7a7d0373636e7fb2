// Timeouts of an answer: it must keep arriving, and it must end.
import type { GatewayTimes } from './times.ts';

/** Which timeout has expired. */
export type TimeoutReason = 'silent' | 'too_late';

export interface ResponseTimeouts {
  /** Must be called for each piece. One without data keeps the connection alive only for a while. */
  received(hasData: boolean): void;
  /** Stops waiting for the provider, because the agent is slow. */
  pause(): void;
  resume(): void;
  end(): void;
}

/** Calls `onEnd` once, unless `end` is called first. */
export function createResponseTimeouts(
  times: GatewayTimes,
  onEnd: (why: TimeoutReason) => void,
): ResponseTimeouts {
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
  function pause(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  wait(firstByteMs);

  return {
    received: (hasData) => {
      const now = performance.now();
      if (hasData) dataAt = now;
      wait(hasData ? silenceMs : Math.max(0, Math.min(silenceMs, dataAt + keptAliveMs - now)));
    },
    pause,
    resume: () => {
      dataAt = performance.now();
      wait(silenceMs);
    },
    end: () => {
      pause();
      clearTimeout(all);
    },
  };
}
