// A span for an attempt of a delivery. It does not name the receiver, which its user has chosen.
import { type Tracing, traced } from '../tracing/tracing.ts';
import type { AttemptOutcome } from './attempt.ts';
import type { ClaimedDelivery } from './outboxStore.ts';

export function traceDelivery(
  tracing: Tracing | undefined,
  { type, attempts, traceparent }: ClaimedDelivery,
  attempt: () => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  const attributes = {
    'http.request.method': 'POST',
    'http.request.resend_count': attempts - 1,
    'parley.webhook.event': type,
  };
  return traced(
    tracing,
    'deliver webhook',
    { kind: 'client', parent: traceparent, attributes },
    async (span) => {
      const outcome = await attempt();
      if (outcome.outcome === 'failed') {
        const { status } = outcome;
        if (status !== null) span?.set({ 'http.response.status_code': status });
        span?.fail(status === null ? 'not_delivered' : String(status));
      }
      return outcome;
    },
  );
}
