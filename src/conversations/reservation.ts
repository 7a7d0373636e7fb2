// While a conversation waits for a worker, it is reserved for the machine that has its files, if a worker there is alive.
// Others may take it when the reservation ends: see sweep/reservationStore.ts.
import { sql } from 'kysely';
import type { Queries } from '../db/transaction.ts';

/** How long a conversation waits for its machine if others can use its volume, or restore its files from a snapshot. */
export const restorableWaitMs = 5_000;
/** How long it waits if no other machine has its files, so that they would be lost. */
export const onlyCopyWaitMs = 10 * 60_000;

/**
 * A worker that was seen more recently is alive. This is shorter than the time after which the lease of a killed process
 * ends, so that its runs are taken over at once, and longer than the time between two heartbeats.
 */
const freshMs = 5_000;

/** Whether a worker of the machine was seen within the time and takes conversations. */
export function takesWork(q: Queries, node: ReturnType<typeof sql.ref>, seenMs: number) {
  return sql<boolean>`exists (
    select 1 from nodes where nodes.node_id = ${node} and nodes.takes_work = 1
      and nodes.seen_at > ${q.now} - ${sql.lit(seenMs)})`;
}

/** When a reservation that begins now ends. */
export function reservedUntil(q: Queries) {
  return sql<number>`${q.now} + case when conversations.workspace_volume is not null or exists (
    select 1 from snapshots where snapshots.conversation_key = conversations.key
      and snapshots.removed_at is null and (snapshots.blob is not null or snapshots.source_id is not null))
    then ${sql.lit(restorableWaitMs)} else ${sql.lit(onlyCopyWaitMs)} end`;
}

/** The columns of a conversation that begins to wait for a worker. */
export function reservation(q: Queries) {
  const node = sql.ref('conversations.workspace_node');
  return {
    reserved_for: sql<string>`case when ${takesWork(q, node, freshMs)} then ${node} else '' end`,
    reserved_until: reservedUntil(q),
  };
}
