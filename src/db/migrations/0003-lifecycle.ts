// What a conversation is doing, who runs it until when, why it stopped, and the changes that a user can follow.
import type { Migration } from './migration.ts';

const columns = [
  'runtime_status text',
  'stop_code text',
  'stop_sentence text',
  'run_id text',
  'owner text',
  'lease_until bigint',
  'wanted text',
  'claimed_at bigint',
  'active_at bigint',
];

// SQLite gives the highest number again once its row is deleted, unless told not to from the beginning: whoever still
// holds the number of a deleted conversation must never find another one under it.
const rebuilt = [
  `create table conversations_new (
    key integer primary key autoincrement, user_id bigint not null references users (id), id text not null,
    fingerprint text not null, status text not null, title text not null, trigger text not null,
    repository text, branch text, git_provider text, request text not null, sealed text,
    next_event bigint not null, created_at bigint not null, updated_at bigint not null,
    ${columns.join(', ')}, unique (user_id, id))`,
  `insert into conversations_new (key, user_id, id, fingerprint, status, title, trigger, repository, branch,
    git_provider, request, sealed, next_event, created_at, updated_at)
    select key, user_id, id, fingerprint, status, title, trigger, repository, branch,
    git_provider, request, sealed, next_event, created_at, updated_at from conversations`,
  'drop table conversations',
  'alter table conversations_new rename to conversations',
  'create index conversations_sealed on conversations (key) where sealed is not null',
  `create table changes (
    user_id bigint not null, id bigint not null, at bigint not null, json text not null,
    primary key (user_id, id)) without rowid`,
];

// PostgreSQL commits out of order: readers go by the transaction, and never past one that still runs.
const extended = [
  ...columns.map((column) => `alter table conversations add column ${column}`),
  `create table changes (
    user_id bigint not null, id bigint generated always as identity,
    transaction xid8 not null default pg_current_xact_id(), at bigint not null, json text not null,
    primary key (user_id, transaction, id))`,
];

export const lifecycle: Migration = {
  name: '0003-lifecycle',
  kind: 'contract',
  statements: (kind) => [
    ...(kind === 'sqlite' ? rebuilt : extended),
    'create index idempotency_by_conversation on idempotency (user_id, conversation_id)',
    'create index conversations_by_time on conversations (user_id, created_at, key)',
    'create index conversations_with_run on conversations (lease_until) where run_id is not null',
    "create index conversations_waiting on conversations (user_id, key) where run_id is null and status <> 'STOPPED'",
  ],
};
