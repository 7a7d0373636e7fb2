// The results of the cluster benchmark as tables and figures.
import { type CostlyTurn, type FilledCluster, operations } from './clusterLoad.ts';
import { tableSizes } from './fillPostgres.ts';
import { slowdownTarget } from './flatness.ts';
import { mediansOf } from './loadProcess.ts';
import type { Plan } from './plan.ts';
import { atMost, decimals, type Figure, type Table, whole } from './report.ts';
import { median } from './statistics.ts';
import type { StreamResult } from './streamLoad.ts';

const tailTarget = 5;

export interface OperationResult {
  readonly operation: string;
  readonly conversations: number;
  readonly processes: number;
  readonly full: Medians;
  readonly half: Medians;
}

type Medians = ReturnType<typeof mediansOfTurns>;

export interface StreamsResult {
  readonly conversations: number;
  readonly processes: number;
  readonly result: StreamResult;
}

export interface ClusterResult {
  readonly operations: readonly OperationResult[];
  readonly streams: readonly StreamsResult[];
}

export function mediansOfTurns(turns: readonly CostlyTurn[]) {
  return {
    ...mediansOf(turns),
    postgresUs: median(turns.map(({ postgresUs }) => postgresUs)),
    walBytes: median(turns.map(({ walBytes }) => walBytes)),
  };
}

const two = decimals(2);

export function operationsTable(
  results: readonly OperationResult[],
  { connections, turns }: Plan['cluster'],
): Table {
  return {
    title: `One PostgreSQL, several processes, ${connections} connections in all`,
    heads: [
      'operation',
      'conversations',
      'processes',
      'a second',
      'p50 ms',
      'p99 ms',
      'half rate: p50 ms',
      'p99 ms',
      'CPU of the service µs',
      'CPU of PostgreSQL µs',
      'WAL bytes',
    ],
    rows: results.map(({ operation, conversations, processes, full, half }) => [
      operation,
      whole(conversations),
      whole(processes),
      whole(full.rate),
      two(full.p50),
      two(full.p99),
      two(half.p50),
      two(half.p99),
      whole(full.cpu),
      whole(full.postgresUs),
      whole(full.walBytes),
    ]),
    note: `Medians of ${turns} turns. Requests are spread evenly at half of the highest rate, and count from the moment when they were due.`,
  };
}

export function streamsTable(results: readonly StreamsResult[], { streams }: Plan['cluster']): Table {
  return {
    title: `${whole(streams.readers)} streams of ${whole(streams.conversations)} conversations, on all processes`,
    heads: [
      'conversations',
      'processes',
      'answer, ms',
      'delivery p50 ms',
      'p99 ms',
      'KB a reader',
      'CPU µs a delivery',
    ],
    rows: results.map(({ conversations, processes, result }) => [
      whole(conversations),
      whole(processes),
      two(result.answerMs),
      two(result.fromSend.p50Ms),
      two(result.fromSend.p99Ms),
      decimals(1)((result.bytes.open - result.bytes.before) / streams.readers / 1_000),
      decimals(1)(result.cpuUs),
    ]),
    note: 'Messages are sent to the first process, one after the other, each when all readers have the one before.',
  };
}

export async function sizesTable({ storage }: FilledCluster): Promise<Table> {
  const sizes = await tableSizes(storage.databaseUrl ?? '', [
    'conversations',
    'events',
    'changes',
    'settings',
    'keys',
  ]);
  return {
    title: 'Size of rows in PostgreSQL',
    heads: ['table', 'rows', 'bytes a row', 'bytes of indexes a row', 'MB in all'],
    rows: sizes.map(({ name, rows, tableBytes, indexBytes }) => [
      name,
      whole(rows),
      whole(tableBytes / rows),
      whole(indexBytes / rows),
      whole((tableBytes + indexBytes) / 1e6),
    ]),
  };
}

/** Time for each operation in the large database, to the small one, with one process. */
export function growthOf(results: readonly OperationResult[], operation: string): number {
  const ofOne = results.filter((result) => result.operation === operation && result.processes === 1);
  const [few, many] = ofOne.toSorted((a, b) => a.conversations - b.conversations);
  return (few?.full.rate ?? 0) / (many?.full.rate ?? 0);
}

export function figuresOf(results: readonly OperationResult[], { small, large }: Plan['cluster']): Figure[] {
  const amounts = `${whole(large.conversations)} conversations to ${whole(small.conversations)}`;
  return operations.flatMap(({ name }) => {
    const one = results.find(
      ({ operation, processes, conversations }) =>
        operation === name && processes === 1 && conversations === large.conversations,
    );
    if (one === undefined) return [];
    return [
      atMost(`${name}, PostgreSQL: time at ${amounts}`, growthOf(results, name), slowdownTarget, two),
      atMost(
        `${name}, PostgreSQL, large, half of the highest rate: p99 to p50`,
        one.half.p99 / one.half.p50,
        tailTarget,
        decimals(1),
      ),
    ];
  });
}
