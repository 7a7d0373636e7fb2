// The audit log: who changed what, by name and never by value. Entries are written in the transaction of the change.
import { type Queries, read, rows, type Steps } from '../db/transaction.ts';

export const auditActions = [
  'settings.change',
  'secret.set',
  'secret.remove',
  'key.create',
  'key.use',
  'key.revoke',
  'sealing-key.rotate',
  'webhook.create',
  'webhook.delete',
  'user.create',
  'user.rename',
  'user.disable',
  'user.enable',
  'user.remove',
  'user.restore',
  'user.purge',
  'session.create',
  'session.end',
  'identity.link',
  'identity.unlink',
  'user.budget',
  'snapshot.discard',
  'snapshot-store.accept',
  'conversation.fork',
] as const;
export type AuditAction = (typeof auditActions)[number];

export interface AuditEntry {
  readonly userId: number;
  /** The key of the caller; `command-line` and `service` need none. */
  readonly keyId: string;
  readonly action: AuditAction;
  /** The name of what was changed. */
  readonly subject: string;
}

export function* recordAudit(q: Queries, entries: readonly AuditEntry[]): Steps<void> {
  if (entries.length === 0) return;
  yield* rows(
    q.build.insertInto('audit').values(
      entries.map(({ userId, keyId, action, subject }) => ({
        at: q.now,
        user_id: userId,
        key_id: keyId,
        action,
        subject,
      })),
    ),
  );
}

export interface AuditFilter {
  readonly userName?: string;
  readonly max: number;
}

/** The newest entries, oldest first. */
export const listAudit = read('audit.list', function* (q, { userName, max }: AuditFilter) {
  let query = q.build
    .selectFrom('audit')
    .innerJoin('users', 'users.id', 'audit.user_id')
    .select(['audit.at', 'users.name as user', 'audit.key_id', 'audit.action', 'audit.subject'])
    .orderBy('audit.id', 'desc')
    .limit(max);
  if (userName !== undefined) query = query.where('users.name', '=', userName);
  return (yield* rows(query)).reverse();
});

export const auditTransactions = [listAudit];
