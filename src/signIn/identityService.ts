// Accounts at the provider that administrators link to users. Nobody else can: a name or an e-mail address proves nothing.
import type { Database } from '../db/transaction.ts';
import { AppError, invalid } from '../errors.ts';
import { normalizeIssuer } from './claims.ts';
import type { IdentityRecord, NewIdentity } from './schema.ts';
import { randomId } from './service.ts';
import { type IdentityRow, linkIdentity, listIdentities, unlinkIdentity } from './store.ts';

interface IdentitiesOptions {
  readonly database: Database;
  /** The issuer that is configured. */
  readonly issuer: string | undefined;
  /** Called after sessions ended, so that this process checks credentials again. */
  readonly onChange: () => void;
}

export type Identities = ReturnType<typeof createIdentities>;

const userMissing = () => new AppError('not_found', 'This user does not exist.');

const linkFaults = {
  missing: userMissing,
  taken: () => new AppError('identity_exists', 'This account is linked to another user. Unlink it first.'),
  too_many: () =>
    new AppError(
      'limit_reached',
      'This user has too many linked accounts. Unlink one that is no longer used.',
    ),
} as const;

function toRecord(row: IdentityRow): IdentityRecord {
  return {
    id: row.id,
    issuer: row.issuer,
    subject: row.subject,
    name: row.name,
    email: row.email,
    created_at: new Date(row.created_at).toISOString(),
    signed_in_at: row.signed_in_at === null ? null : new Date(row.signed_in_at).toISOString(),
  };
}

export function createIdentities({ database, issuer: configured, onChange }: IdentitiesOptions) {
  return {
    list: async (user: string): Promise<IdentityRecord[]> => {
      const rows = await database.run(listIdentities, user);
      if (rows === undefined) throw userMissing();
      return rows.map(toRecord);
    },
    /** `by` is the id of the caller's key, for the audit log. */
    link: async (by: string, user: string, identity: NewIdentity): Promise<IdentityRecord> => {
      const { subject, issuer = configured } = identity;
      if (issuer === undefined)
        throw invalid([{ path: 'issuer', message: 'is required, because no provider is configured' }]);
      const linked = await database.run(linkIdentity, {
        user,
        issuer: normalizeIssuer(issuer),
        subject,
        identityId: randomId(),
        by,
      });
      if (typeof linked === 'string') throw linkFaults[linked]();
      return toRecord(linked);
    },
    /** Ends the sessions of that account, too. */
    unlink: async (by: string, user: string, id: string): Promise<IdentityRecord> => {
      const unlinked = await database.run(unlinkIdentity, { user, id, by });
      if (unlinked === undefined) throw new AppError('not_found', 'This user has no such account.');
      onChange();
      return toRecord(unlinked);
    },
  };
}
