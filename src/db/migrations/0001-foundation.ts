// Users, credentials, settings, secrets, conversations with their events, and idempotency keys.
import type { Migration } from './migration.ts';

export const foundation: Migration = {
  name: '0001-foundation',
  kind: 'contract',
  statements: (kind) => {
    const serial =
      kind === 'sqlite' ? 'integer primary key' : 'bigint generated always as identity primary key';
    // Clustered on its key: the events of a conversation lie side by side.
    const clustered = kind === 'sqlite' ? ' without rowid' : '';
    return [
      `create table users (
        id ${serial}, name text not null unique, created_at bigint not null)`,
      `create table keys (
        id text not null primary key, user_id bigint not null references users (id), kind text not null,
        name text not null, hash text not null, scopes text not null, created_at bigint not null,
        expires_at bigint, last_used_at bigint, revoked_at bigint)`,
      'create index keys_by_user on keys (user_id, created_at)',
      `create table settings (
        user_id bigint not null primary key references users (id), version bigint not null,
        document text not null, updated_at bigint not null)`,
      `create table secrets (
        user_id bigint not null references users (id), kind text not null, name text not null,
        sealed text not null, host text, description text, primary key (user_id, kind, name))${clustered}`,
      `create table conversations (
        key ${serial}, user_id bigint not null references users (id), id text not null,
        fingerprint text not null, status text not null, title text not null, trigger text not null,
        repository text, branch text, git_provider text, request text not null, sealed text,
        next_event bigint not null, created_at bigint not null, updated_at bigint not null,
        unique (user_id, id))`,
      `create table events (
        conversation_key bigint not null, id bigint not null, json text not null,
        primary key (conversation_key, id))${clustered}`,
      `create table idempotency (
        user_id bigint not null, key_hash text not null, fingerprint text not null,
        conversation_id text not null, expires_at bigint not null,
        primary key (user_id, key_hash))${clustered}`,
      'create index idempotency_by_expiry on idempotency (expires_at)',
      `create table facts (name text not null primary key, value text not null)${clustered}`,
    ];
  },
};
