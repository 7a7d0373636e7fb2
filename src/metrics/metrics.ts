// Every metric that the process counts while it works, declared once. Labels have few values and none that comes from a
// user.
import type { Exposition } from './exposition.ts';
import { type Counter, createCounter, createHistogram, type Gauge, type Instrument } from './instruments.ts';

const requestSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const startSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000];
const sandboxSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25];
const modelSeconds = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500];
const snapshotSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000];
const commitCalls = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

export type Metrics = ReturnType<typeof createMetrics>;

function declareMetrics() {
  return {
    requests: createHistogram({
      name: 'parley_http_request_seconds',
      help: 'Time from the arrival of a request until its response was written, without streams.',
      labels: ['method', 'route', 'status'],
      bounds: requestSeconds,
    }),
    commits: createHistogram({
      name: 'parley_commit_calls',
      help: 'Calls that shared one commit: a group on SQLite, a set on PostgreSQL.',
      labels: ['kind'],
      bounds: commitCalls,
    }),
    claims: createCounter({
      name: 'parley_claims_total',
      help: 'Conversations that this process has claimed: to start them, or to take them over from a run that was lost.',
      labels: ['kind'],
    }),
    starts: createHistogram({
      name: 'parley_starting_seconds',
      help: 'How long conversations were STARTING before they were RUNNING, with the time that they waited for a worker.',
      labels: [],
      bounds: startSeconds,
    }),
    runEnds: createCounter({
      name: 'parley_runs_ended_total',
      help: 'Runs of this process that have ended, by what ended them: the run itself, its user, a lost lease, a shutdown or a crash.',
      labels: ['cause'],
    }),
    sandboxStarts: createHistogram({
      name: 'parley_sandbox_start_seconds',
      help: 'How long it took to start a program in a sandbox.',
      labels: ['engine', 'outcome'],
      bounds: sandboxSeconds,
    }),
    snapshots: createHistogram({
      name: 'parley_snapshot_seconds',
      help: 'Time from the end of a turn or a change of the user until the snapshot of the files was stored, or was found to be the same as the last one.',
      labels: ['outcome'],
      bounds: snapshotSeconds,
    }),
    snapshotFailures: createCounter({
      name: 'parley_snapshot_failures_total',
      help: 'Snapshots that could not be made or stored.',
      labels: ['reason'],
    }),
    snapshotBytes: createCounter({
      name: 'parley_snapshot_bytes_total',
      help: 'Bytes that were sent to the snapshot store, compressed.',
      labels: [],
    }),
    snapshotRestores: createCounter({
      name: 'parley_snapshot_restores_total',
      help: 'Attempts to restore the files of a conversation from its snapshot.',
      labels: ['outcome'],
    }),
    partials: createCounter({
      name: 'parley_partials_total',
      help: 'Pieces of unfinished text that were sent to subscribers, or dropped because a subscriber was too slow.',
      labels: ['outcome'],
    }),
    backups: createCounter({
      name: 'parley_backups_total',
      help: 'Scheduled backups of this process that were completed or failed.',
      labels: ['outcome'],
    }),
    modelRequests: createCounter({
      name: 'parley_model_requests_total',
      help: 'Model requests of agents.',
      labels: ['provider'],
    }),
    modelFailures: createCounter({
      name: 'parley_model_failures_total',
      help: 'Model requests that failed in the end.',
      labels: ['provider', 'cause'],
    }),
    modelRetries: createCounter({
      name: 'parley_model_retries_total',
      help: 'Attempts of model requests that failed and were repeated.',
      labels: ['provider'],
    }),
    modelSeconds: createHistogram({
      name: 'parley_model_request_seconds',
      help: 'Time from a model request of an agent until its response was complete, with repeated attempts.',
      labels: ['provider'],
      bounds: modelSeconds,
    }),
    modelTokens: createCounter({
      name: 'parley_model_tokens_total',
      help: 'Tokens of model requests.',
      labels: ['provider', 'kind'],
    }),
    modelCost: createCounter({
      name: 'parley_model_cost_dollars_total',
      help: 'Cost of model requests, by the prices that Parley knows.',
      labels: ['provider'],
    }),
    budgetRefusals: createCounter({
      name: 'parley_budget_refusals_total',
      help: 'Model requests that were refused because the budget of the user for the day or the month was used up.',
      labels: ['period'],
    }),
    spans: createCounter({
      name: 'parley_trace_spans_total',
      help: 'Spans that were exported, that the collector did not take, or that were dropped because too many waited.',
      labels: ['outcome'],
    }),
  };
}

export function createMetrics() {
  const declared = declareMetrics();
  const instruments: Instrument[] = Object.values(declared);
  let exposition: Promise<Exposition> | undefined;

  return {
    ...declared,
    /** Adds metrics that are read when somebody asks for them. */
    add: (...more: readonly (Counter | Gauge)[]) => void instruments.push(...more),
    /** The names and labels of all metrics of Parley. */
    list: () => instruments.map(({ name, labels }) => ({ name, labels })),
    /** All metrics in the text format of Prometheus. */
    read: async () => {
      exposition ??= import('./exposition.ts').then(({ createExposition }) => createExposition(instruments));
      const { contentType, print } = await exposition;
      return { contentType, text: await print() };
    },
  };
}
