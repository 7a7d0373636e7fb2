// Who changed what, and an index that finds sealed texts without reading every conversation.
import type { Migration } from './migration.ts';

export const audit: Migration = {
  name: '0002-audit',
  kind: 'expand',
  statements: (kind) => {
    const serial =
      kind === 'sqlite' ? 'integer primary key' : 'bigint generated always as identity primary key';
    return [
      `create table audit (
        id ${serial}, at bigint not null, user_id bigint not null, key_id text not null,
        action text not null, subject text not null)`,
      'create index audit_by_user on audit (user_id, id)',
      'create index conversations_sealed on conversations (key) where sealed is not null',
    ];
  },
};
