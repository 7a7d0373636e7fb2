// Every metric of the process, declared once. Labels have few values and none that comes from a user.
import type { Exposition } from './exposition.ts';
import { type Counter, createCounter, createHistogram, type Gauge, type Instrument } from './instruments.ts';

const requestSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const requests = createHistogram({
    name: 'parley_http_request_seconds',
    help: 'Time from the arrival of a request until its response was written, without streams.',
    labels: ['method', 'route', 'status'],
    bounds: requestSeconds,
  });
  const claims = createCounter({
    name: 'parley_claims_total',
    help: 'Conversations that this process has claimed: to start them, or to take them over from a run that was lost.',
    labels: ['kind'],
  });
  const runEnds = createCounter({
    name: 'parley_runs_ended_total',
    help: 'Runs of this process that have ended, by what ended them: the run itself, its user, a lost lease, a shutdown or a crash.',
    labels: ['cause'],
  });
  const modelRequests = createCounter({
    name: 'parley_model_requests_total',
    help: 'Model requests of agents.',
    labels: ['provider'],
  });
  const modelTokens = createCounter({
    name: 'parley_model_tokens_total',
    help: 'Tokens of model requests.',
    labels: ['provider', 'kind'],
  });
  const modelCost = createCounter({
    name: 'parley_model_cost_dollars_total',
    help: 'Cost of model requests, by the prices that Parley knows.',
    labels: ['provider'],
  });
  const instruments: Instrument[] = [requests, claims, runEnds, modelRequests, modelTokens, modelCost];
  let exposition: Promise<Exposition> | undefined;

  return {
    requests,
    claims,
    runEnds,
    modelRequests,
    modelTokens,
    modelCost,
    /** Adds metrics that are read when somebody asks for them. */
    add: (...more: readonly (Counter | Gauge)[]) => void instruments.push(...more),
    /** All metrics in the text format of Prometheus. */
    read: async () => {
      exposition ??= import('./exposition.ts').then(({ createExposition }) => createExposition(instruments));
      const { contentType, print } = await exposition;
      return { contentType, text: await print() };
    },
  };
}
