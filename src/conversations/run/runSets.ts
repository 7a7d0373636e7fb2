// Records the steps of many runs, and renews many leases, with one statement each. What a run has lost, and rows that
// others are changing, are left to single transactions.
import { sql } from 'kysely';
import { type ColumnLists, listsOf, tableOf } from '../../db/setColumns.ts';
import { prepared, type Queries, type Query, rows, type SetForm, type Steps } from '../../db/transaction.ts';
import { eventIdsMax } from '../../events/eventKey.ts';
import {
  charsOf,
  type EventLists,
  eventColumns,
  eventRows,
  insertEventsOf,
  setEventsMax,
} from '../../events/eventSet.ts';
import type { ConversationStatus } from '../states.ts';
import type { Recorded, Renewal, Renewed, Run, RunRecord } from './records.ts';

const runColumns = { n: 'bigint', key: 'bigint', run_id: 'text' } as const;

function runRow({ key, runId }: Run, n: number) {
  return { n, key, run_id: runId };
}

function claimsOf({ key }: Run): readonly string[] {
  return [`run ${key}`];
}

const renewalColumns = { ...runColumns, lease_ms: 'bigint' } as const;

interface RenewedRow {
  readonly n: number;
  readonly wanted: string | null;
}

/** Rows that somebody else has locked are skipped, so that nobody waits for them but their own call. */
const renewAll = prepared((q: Queries, lists: ColumnLists<typeof renewalColumns>): Query<RenewedRow> => {
  const query = sql<RenewedRow>`
    with locked as (
      select sent.n, sent.lease_ms, c.key
      from ${tableOf('sent', renewalColumns, lists)} join conversations c on c.key = sent.key
      where c.run_id = sent.run_id
      order by c.key for no key update of c skip locked)
    update conversations c set lease_until = ${q.now} + locked.lease_ms
    from locked where c.key = locked.key
    returning locked.n, c.wanted`;
  return { compile: () => query.compile(q.build) };
});

export const renewalSet: SetForm<Renewal, Renewed> = {
  claims: claimsOf,
  sizeOf: ({ runId }) => runId.length,
  steps: function* (q, inputs): Steps<ReadonlyMap<number, Renewed>> {
    const sent = inputs.map((run, n) => ({ ...runRow(run, n), lease_ms: run.leaseMs }));
    const renewed = yield* rows(renewAll(q, listsOf(renewalColumns, sent)));
    return new Map(renewed.map(({ n, wanted }) => [n, wanted === null ? 'kept' : 'stop']));
  },
};

const recordColumns = { ...runColumns, step: 'bigint', events: 'bigint' } as const;

interface RecordedRow {
  readonly n: number;
  readonly first: number;
}

const recordAll = prepared(
  (q: Queries, lists: ColumnLists<typeof recordColumns> & EventLists): Query<RecordedRow> => {
    const stopped = sql.lit('STOPPED' satisfies ConversationStatus);
    const query = sql<RecordedRow>`
      with locked as (
        select sent.n, sent.step, sent.events, c.key
        from ${tableOf('sent', recordColumns, lists)} join conversations c on c.key = sent.key
        where c.run_id = sent.run_id and c.steps < sent.step and c.wanted is null and c.status <> ${stopped}
          and c.next_event + sent.events <= ${sql.lit(eventIdsMax)}
          and not exists (select from webhooks where webhooks.user_id = c.user_id)
        order by c.key for no key update of c skip locked),
      recorded as (
        update conversations c
        set active_at = ${q.now}, updated_at = ${q.now}, steps = locked.step, step_from = c.next_event,
          next_event = c.next_event + locked.events
        from locked where c.key = locked.key
        returning locked.n, c.key, c.step_from as first),
      logged as (${insertEventsOf('recorded', lists)})
      select n, first from recorded`;
    return { compile: () => query.compile(q.build) };
  },
);

/** Whether the record only appends events, as nearly all do. */
function isPlain(record: RunRecord): boolean {
  const { key: _, runId, step, events, at, ...more } = record;
  return Object.values(more).every((value) => value === undefined);
}

export const recordSet: SetForm<RunRecord, Recorded> = {
  claims: (record) => {
    const { length } = record.events;
    return length > 0 && length <= setEventsMax && isPlain(record) ? claimsOf(record) : undefined;
  },
  sizeOf: ({ events }) => charsOf(events),
  steps: function* (q, inputs): Steps<ReadonlyMap<number, Recorded>> {
    const sent = inputs.map((record, n) => ({
      ...runRow(record, n),
      step: record.step,
      events: record.events.length,
    }));
    const events = inputs.flatMap((record, n) => eventRows(record.events, n));
    const lists = { ...listsOf(recordColumns, sent), ...listsOf(eventColumns, events) };
    const recorded = yield* rows(recordAll(q, lists));
    return new Map(recorded.map(({ n, first }) => [n, first]));
  },
};
