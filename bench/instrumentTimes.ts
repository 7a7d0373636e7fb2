// Measures the instruments of a request alone, in this process, because their cost is far below the differences between two
// processes. This is a lower bound: the hooks that call them are not part of it.
import { createMetrics } from '../src/metrics/metrics.ts';
import { median } from './statistics.ts';

const rounds = 15;
const callsPerRound = 200_000;

function timeOf(call: () => void): number {
  const begin = performance.now();
  for (let i = 0; i < callsPerRound; i++) call();
  return ((performance.now() - begin) * 1_000) / callsPerRound;
}

/** The first rounds, in which the code is compiled, do not change the median. */
const medianTime = (call: () => void) => median(Array.from({ length: rounds }, () => timeOf(call)));

export interface InstrumentTimes {
  /** In microseconds: what the fast lane does for metrics. */
  readonly fastLaneUs: number;
  /** What is done for any other request, and for a commit of its own, which requests share under load. */
  readonly requestUs: number;
}

export function measureInstruments(): InstrumentTimes {
  const { requests, commits } = createMetrics();
  const observe = requests.observerOf(['GET', '/api/settings', 200]);
  return {
    fastLaneUs: medianTime(() => {
      const since = performance.now();
      observe((performance.now() - since) / 1_000);
    }),
    requestUs: medianTime(() => {
      requests.observe(['POST', '/api/conversations', 200], performance.now() / 1e9);
      commits.observe(['group'], 1);
    }),
  };
}
