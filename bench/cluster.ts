// Measures several processes of the service on one PostgreSQL with many users and conversations, and what an operation
// costs there beside a small database. On few cores, more processes cannot do more: the CPU time of an operation shows
// what more cores would do.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from './child.ts';
import {
  type CostlyTurn,
  createPostgresMeter,
  type FilledCluster,
  measureTurn,
  type Operation,
  operations,
  type PostgresMeter,
  startCluster,
} from './clusterLoad.ts';
import { clusterCharts } from './clusterPlots.ts';
import {
  figuresOf,
  mediansOfTurns,
  type OperationResult,
  operationsTable,
  type StreamsResult,
  sizesTable,
  streamsTable,
} from './clusterReport.ts';
import { createConversations } from './conversations.ts';
import type { Lifetime } from './lifetime.ts';
import { clusterTarget, loadedServer, mediansOf } from './loadProcess.ts';
import type { Plan } from './plan.ts';
import { measureRenewals } from './renewals.ts';
import { type PartReport, whole } from './report.ts';
import { followConversation, sendMessage, wireRequest } from './requests.ts';
import type { StreamPlan, StreamResult } from './streamLoad.ts';

const streamLoad = fileURLToPath(new URL('./streamLoad.ts', import.meta.url));
const streamTimeoutMs = 120_000;
/** A new conversation has its message and its first state. */
const lastEvent = 1;

/** One database with this many processes. */
interface Setting {
  readonly cluster: FilledCluster;
  readonly processes: number;
}

/** All settings take turns, so that the noise of the machine affects all of them. */
async function measureOperation(
  lifetime: Lifetime,
  meter: PostgresMeter,
  plan: Plan['cluster'],
  settings: readonly Setting[],
  { name, ask }: Operation,
): Promise<OperationResult[]> {
  process.stderr.write(`cluster: ${name} …\n`);
  const measured = settings.map(({ cluster, processes }) => ({
    conversations: cluster.amount.conversations,
    processes,
    target: clusterTarget(cluster.services.slice(0, processes), cluster.users.map(ask)),
    full: [] as CostlyTurn[],
    half: [] as CostlyTurn[],
  }));
  for (const { target } of measured) await measureTurn(lifetime, meter, plan, target);
  // The order alternates.
  const inOrder = (turn: number) => (turn % 2 === 0 ? measured : measured.toReversed());
  for (let turn = 0; turn < plan.turns; turn++)
    for (const { target, full } of inOrder(turn)) full.push(await measureTurn(lifetime, meter, plan, target));
  for (let turn = 0; turn < plan.turns; turn++)
    for (const { target, full, half } of inOrder(turn))
      half.push(await measureTurn(lifetime, meter, plan, target, mediansOf(full).rate / 2));
  return measured.map(({ conversations, processes, full, half }) => ({
    operation: name,
    conversations,
    processes,
    full: mediansOfTurns(full),
    half: mediansOfTurns(half),
  }));
}

/** Readers are spread over all processes; the first process gets the messages. */
async function measureStreams(
  lifetime: Lifetime,
  plan: Plan['cluster'],
  { cluster, processes }: Setting,
): Promise<StreamsResult> {
  const services = cluster.services.slice(0, processes);
  const { conversations, readers, warmups, counted } = plan.streams;
  process.stderr.write(`cluster: ${whole(readers)} streams, processes ${processes} …\n`);
  const { url = '' } = services[0] ?? {};
  const ids = await createConversations(url, conversations);
  const streamPlan: StreamPlan = {
    servers: services.map(loadedServer),
    follows: ids.map((id) => wireRequest(followConversation(id), url)),
    messages: ids.map((id) => wireRequest(sendMessage(id), url)),
    lastEvent,
    readers,
    warmups,
    counted,
    settleMs: 1_000,
  };
  const result = await runChild<StreamPlan, StreamResult>(lifetime, streamLoad, streamPlan, streamTimeoutMs);
  return { conversations: cluster.amount.conversations, processes, result };
}

export async function measureCluster(lifetime: Lifetime, plan: Plan, plots?: string): Promise<PartReport> {
  const { processes, small, large } = plan.cluster;
  const few = await startCluster(lifetime, plan.cluster, small, 1);
  const many = await startCluster(lifetime, plan.cluster, large, Math.max(...processes));
  const sizes = await sizesTable(many);
  const settings = [
    { cluster: few, processes: 1 },
    ...processes.map((count) => ({ cluster: many, processes: count })),
  ];
  const meter = await createPostgresMeter(many.storage.databaseUrl ?? '');
  const measured: OperationResult[] = [];
  for (const operation of operations)
    measured.push(...(await measureOperation(lifetime, meter, plan.cluster, settings, operation)));
  const streams: StreamsResult[] = [];
  for (const setting of settings) streams.push(await measureStreams(lifetime, plan.cluster, setting));
  for (const service of [...few.services, ...many.services]) await service.stop();
  const renewals = await measureRenewals(many, meter, plan.cluster.renewals);
  for (const { storage } of [few, many]) await storage.remove();
  if (plots !== undefined) {
    mkdirSync(plots, { recursive: true });
    for (const [name, svg] of Object.entries(clusterCharts({ operations: measured, streams }, plan.cluster)))
      writeFileSync(join(plots, `${name}.svg`), svg);
  }
  return {
    tables: [operationsTable(measured, plan.cluster), streamsTable(streams, plan.cluster), renewals, sizes],
    figures: figuresOf(measured, plan.cluster),
  };
}
