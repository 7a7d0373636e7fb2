// People can sign in with an account at an OpenID Connect provider.
import type { Migration } from './migration.ts';

export const signIn: Migration = {
  name: '0034-sign-in',
  kind: 'expand',
  statements: () => [
    `create table identities (id text not null primary key, user_id bigint not null, issuer text not null,
      subject text not null, name text, email text, created_at bigint not null, signed_in_at bigint,
      unique (issuer, subject))`,
    'create index identities_user on identities (user_id)',
    `create table sessions (id text not null primary key, user_id bigint not null, identity_id text not null,
      sign_in text not null unique, hash text not null, scopes text not null, browser text not null,
      created_at bigint not null, last_used_at bigint not null, expires_at bigint not null,
      ends_at bigint not null, ended_at bigint)`,
    'create index sessions_user on sessions (user_id)',
    'create index sessions_end on sessions (expires_at)',
  ],
};
