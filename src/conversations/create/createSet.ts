// Creates many conversations with one statement. Left to single transactions: secrets and patches, many events, users
// with webhooks, and creations whose id or idempotency key is taken or that are too many.
import { sql } from 'kysely';
import { type ColumnLists, listsOf, tableOf } from '../../db/setColumns.ts';
import { prepared, type Queries, type Query, rows, type SetForm, type Steps } from '../../db/transaction.ts';
import { conversationsMax } from '../../events/eventKey.ts';
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
import { type CreateOutcome, creationChange, type NewConversation } from './newConversation.ts';
import { admitAll } from './waiting.ts';

const callColumns = {
  n: 'bigint',
  user_id: 'bigint',
  id: 'text',
  fingerprint: 'text',
  title: 'text',
  trigger: 'text',
  repository: 'text',
  branch: 'text',
  git_provider: 'text',
  agent: 'text',
  llm_model: 'text',
  confirmation_mode: 'bigint',
  client_folder: 'text',
  request: 'text',
  next_event: 'bigint',
  said: 'bigint',
  key_hash: 'text',
  ttl_ms: 'bigint',
  change: 'text',
  traceparent: 'text',
} as const;

type Lists = ColumnLists<typeof callColumns> & EventLists;

interface Created {
  readonly n: number;
  readonly key: number;
}

/** Keys, then conversations, each in their own order, so that two sets that meet cannot wait for each other. */
const insertAll = prepared((q: Queries, lists: Lists): Query<Created> => {
  const status = sql.lit('STARTING' satisfies ConversationStatus);
  const query = sql<Created>`
    with call as (
      select * from ${tableOf('sent', callColumns, lists)}
      where not exists (select from webhooks where webhooks.user_id = sent.user_id)),
    claimed as (
      insert into idempotency (user_id, key_hash, fingerprint, conversation_id, expires_at)
      select user_id, key_hash, fingerprint, id, ${q.now} + ttl_ms from call
      where key_hash is not null order by user_id, key_hash
      on conflict (user_id, key_hash) do update
      set fingerprint = excluded.fingerprint, conversation_id = excluded.conversation_id, event_id = null,
        expires_at = excluded.expires_at
      where idempotency.expires_at <= ${q.now}
      returning user_id, key_hash),
    created as (
      insert into conversations (user_id, id, fingerprint, status, title, trigger, repository, branch, git_provider,
        agent, llm_model, confirmation_mode, client_folder, request, next_event, said, traceparent,
        created_at, updated_at)
      select user_id, id, fingerprint, ${status}, title, trigger, repository, branch, git_provider,
        agent, llm_model, confirmation_mode, client_folder, request, next_event, said, traceparent,
        ${q.now}, ${q.now} from call
      where key_hash is null or (user_id, key_hash) in (select user_id, key_hash from claimed)
      order by user_id, id
      on conflict (user_id, id) do nothing
      returning key, user_id, id),
    done as (
      select call.n, call.user_id, call.change, created.key, 0 as first from created join call using (user_id, id)),
    logged as (${insertEventsOf('done', lists)}),
    changed as (
      insert into changes (user_id, at, json) select user_id, ${q.now}, change from done order by n)
    select n, key from done`;
  return { compile: () => query.compile(q.build) };
});

function callOf(c: NewConversation, n: number) {
  return {
    n,
    user_id: c.userId,
    id: c.id,
    fingerprint: c.fingerprint,
    title: c.title,
    trigger: c.trigger,
    repository: c.repository,
    branch: c.branch,
    git_provider: c.gitProvider,
    agent: c.agent,
    llm_model: c.llmModel,
    confirmation_mode: c.confirmationMode,
    client_folder: c.clientFolder,
    request: c.request,
    next_event: c.events.length,
    said: c.said,
    key_hash: c.idempotency?.keyHash ?? null,
    ttl_ms: c.idempotency?.ttlMs ?? null,
    change: creationChange(c),
    traceparent: c.traceparent,
  };
}

export const createSet: SetForm<NewConversation, CreateOutcome> = {
  claims: (c) => {
    if (c.sealed !== null || c.patch !== null || c.events.length > setEventsMax) return undefined;
    const conversation = conversationClaim(c);
    return c.idempotency === null
      ? [conversation]
      : [conversation, keyClaim(c.userId, c.idempotency.keyHash)];
  },
  sizeOf: ({ request, title, events }) => request.length + title.length + charsOf(events),
  steps: function* (q, inputs): Steps<ReadonlyMap<number, CreateOutcome>> {
    const admitted = yield* admitAll(q, inputs);
    if (admitted.length === 0) return new Map();
    const calls = admitted.map((n) => ({ n, input: inputs[n] as NewConversation }));
    const lists = {
      ...listsOf(
        callColumns,
        calls.map(({ n, input }) => callOf(input, n)),
      ),
      ...listsOf(
        eventColumns,
        calls.flatMap(({ n, input }) => eventRows(input.events, n)),
      ),
    };
    const created = yield* rows(insertAll(q, lists));
    if (created.some(({ key }) => key >= conversationsMax))
      throw new Error('there are too many conversations');
    return new Map(created.map(({ n, key }) => [n, { outcome: 'created', key }]));
  },
};
