// Adds messages to many conversations with one statement. Stopped conversations, those that others are changing, and keys
// that were used before are left to single transactions.
import { sql } from 'kysely';
import { type CallRow, type ColumnLists, listsOf, tableOf } from '../../db/setColumns.ts';
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
import { conversationClaim } from '../id.ts';
import { keyClaim } from '../idempotency/key.ts';
import type { ConversationStatus } from '../states.ts';
import type { KeyedMessage, KeyedWakeOutcome, Start, WakeOutcome, Woken } from './wake.ts';

const messageColumns = {
  n: 'bigint',
  user_id: 'bigint',
  id: 'text',
  events: 'bigint',
  key_hash: 'text',
  fingerprint: 'text',
  ttl_ms: 'bigint',
} as const;

type Lists = ColumnLists<typeof messageColumns> & EventLists;

interface AddedRow {
  readonly n: number;
  readonly key: number;
  readonly status: ConversationStatus;
  readonly first: number;
}

/** Locks the conversations before their keys, like the message of a single transaction. */
const addAll = prepared((q: Queries, lists: Lists): Query<AddedRow> => {
  const stopped = sql.lit('STOPPED' satisfies ConversationStatus);
  const query = sql<AddedRow>`
    with locked as (
      select sent.*, c.key, c.next_event
      from ${tableOf('sent', messageColumns, lists)} join conversations c on c.user_id = sent.user_id and c.id = sent.id
      where c.status <> ${stopped} and c.next_event + sent.events <= ${sql.lit(eventIdsMax)}
        and not exists (select from webhooks where webhooks.user_id = sent.user_id)
      order by c.key for no key update of c skip locked),
    claimed as (
      insert into idempotency (user_id, key_hash, fingerprint, conversation_id, event_id, expires_at)
      select user_id, key_hash, fingerprint, id, next_event, ${q.now} + ttl_ms from locked
      where key_hash is not null order by user_id, key_hash
      on conflict (user_id, key_hash) do update
      set fingerprint = excluded.fingerprint, conversation_id = excluded.conversation_id,
        event_id = excluded.event_id, expires_at = excluded.expires_at
      where idempotency.expires_at <= ${q.now}
      returning user_id, key_hash),
    added as (
      update conversations c
      set next_event = c.next_event + locked.events, said = c.next_event + 1, updated_at = ${q.now},
        active_at = case when c.run_id is null then c.active_at else ${q.now} end
      from locked
      where c.key = locked.key and (locked.key_hash is null
        or (locked.user_id, locked.key_hash) in (select user_id, key_hash from claimed))
      returning locked.n, c.key, c.status, c.next_event - locked.events as first),
    logged as (${insertEventsOf('added', lists)})
    select n, key, status, first from added`;
  return { compile: () => query.compile(q.build) };
});

function rowOf({ userId, id, message }: Start, n: number) {
  return { n, user_id: userId, id, events: message.length, key_hash: null, fingerprint: null, ttl_ms: null };
}

function keyedRowOf(input: KeyedMessage, n: number) {
  const { keyHash, ttlMs } = input.idempotency;
  return { ...rowOf(input, n), key_hash: keyHash, fingerprint: input.fingerprint, ttl_ms: ttlMs };
}

function* addMessages(
  q: Queries,
  sent: readonly CallRow<typeof messageColumns>[],
  inputs: readonly Start[],
): Steps<ReadonlyMap<number, Woken>> {
  const events = inputs.flatMap(({ message }, n) => eventRows(message, n));
  const lists = { ...listsOf(messageColumns, sent), ...listsOf(eventColumns, events) };
  const added = yield* rows(addAll(q, lists));
  return new Map(
    added.map(({ n, key, status, first }) => [n, { key, status, changed: true, eventId: first }]),
  );
}

function claimsOf(input: Start): readonly string[] | undefined {
  const { length } = input.message;
  return length > 0 && length <= setEventsMax ? [conversationClaim(input)] : undefined;
}

export const messageSet: SetForm<Start, WakeOutcome> = {
  claims: claimsOf,
  sizeOf: ({ message }) => charsOf(message),
  steps: (q, inputs) => addMessages(q, inputs.map(rowOf), inputs),
};

export const keyedMessageSet: SetForm<KeyedMessage, KeyedWakeOutcome> = {
  claims: (input) => claimsOf(input)?.concat(keyClaim(input.userId, input.idempotency.keyHash)),
  sizeOf: ({ message }) => charsOf(message),
  steps: (q, inputs) => addMessages(q, inputs.map(keyedRowOf), inputs),
};
