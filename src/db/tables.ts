// The rows as they are stored. Times are milliseconds since 1970: by the database's clock, but for the use and the
// end of keys, which the process decides that checks them.
import type { Generated } from 'kysely';

export interface Tables {
  users: { id: Generated<number>; name: string; created_at: number };
  keys: {
    id: string;
    user_id: number;
    kind: string;
    name: string;
    hash: string;
    scopes: string;
    created_at: number;
    expires_at: number | null;
    last_used_at: number | null;
    revoked_at: number | null;
  };
  settings: { user_id: number; version: number; document: string; updated_at: number };
  secrets: {
    user_id: number;
    kind: string;
    name: string;
    sealed: string;
    host: string | null;
    description: string | null;
  };
  conversations: {
    key: Generated<number>;
    user_id: number;
    id: string;
    fingerprint: string;
    status: string;
    title: string;
    trigger: string;
    repository: string | null;
    branch: string | null;
    git_provider: string | null;
    request: string;
    sealed: string | null;
    next_event: number;
    created_at: number;
    updated_at: number;
  };
  events: { conversation_key: number; id: number; json: string };
  idempotency: {
    user_id: number;
    key_hash: string;
    fingerprint: string;
    conversation_id: string;
    expires_at: number;
  };
  facts: { name: string; value: string };
  audit: {
    id: Generated<number>;
    at: number;
    user_id: number;
    key_id: string;
    action: string;
    subject: string;
  };
  migrations: { name: string; applied_at: number };
}
