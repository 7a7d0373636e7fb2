// One JSON document and a version per user, and the user's encrypted secrets. Every change increases the version.
import { sql } from 'kysely';
import { type AuditEntry, recordAudit } from '../audit/store.ts';
import { one, prepared, type Queries, read, rows, type Steps, write } from '../db/transaction.ts';
import { encryptedWithActiveKey } from '../encryption/store.ts';
import { defaultsName } from '../users/owner.ts';

export interface SecretRow {
  readonly kind: string;
  readonly name: string;
  readonly host: string | null;
  readonly description: string | null;
}

/** The operator's defaults. */
export interface OperatorRows {
  /** The user that they are stored for. */
  readonly userId: number;
  readonly document: string;
  readonly secrets: readonly SecretRow[];
}

export interface SettingsRows {
  readonly version: number;
  readonly document: string;
  readonly secrets: readonly SecretRow[];
  /** Null if there are none, and for the defaults themselves. */
  readonly operator: OperatorRows | null;
}

const selectSettings = prepared((q: Queries, input: { userId: number }) =>
  q.build.selectFrom('settings').select(['version', 'document']).where('user_id', '=', input.userId),
);

const selectSecrets = prepared((q: Queries, input: { userId: number }) =>
  q.build
    .selectFrom('secrets')
    .select(['kind', 'name', 'host', 'description'])
    .where('user_id', '=', input.userId),
);

const selectOperator = prepared((q: Queries, _: object) =>
  q.build
    .selectFrom('users')
    .innerJoin('settings', 'settings.user_id', 'users.id')
    .select(['users.id', 'settings.document'])
    .where('users.name', '=', sql.lit(defaultsName)),
);

function* findOperatorRows(q: Queries, userId: number): Steps<OperatorRows | null> {
  const found = yield* one(selectOperator(q, {}));
  if (found === undefined || found.id === userId) return null;
  const { id, document } = found;
  return { userId: id, document, secrets: yield* rows(selectSecrets(q, { userId: id })) };
}

/** The rows of a user. Without any, the document is empty and has version 0. */
export const findSettings = read('settings.find', function* (q, userId: number): Steps<SettingsRows> {
  const stored = yield* one(selectSettings(q, { userId }));
  const secrets = yield* rows(selectSecrets(q, { userId }));
  // Sorted by code units, which does not depend on the locale of a database.
  secrets.sort((a, b) => (a.kind + a.name < b.kind + b.name ? -1 : 1));
  const operator = yield* findOperatorRows(q, userId);
  return { version: stored?.version ?? 0, document: stored?.document ?? '{}', secrets, operator };
});

export interface SecretName {
  readonly userId: number;
  readonly kind: string;
  readonly name: string;
}

export const findSealed = read('settings.findSealed', function* (q, secret: SecretName) {
  const found = yield* one(
    q.build
      .selectFrom('secrets')
      .select('sealed')
      .where('user_id', '=', secret.userId)
      .where('kind', '=', secret.kind)
      .where('name', '=', secret.name),
  );
  return found?.sealed;
});

export interface McpRows {
  readonly document: string;
  readonly sealed: string | null;
}

/** The document and the encrypted secrets of its MCP servers, read at once because they are matched by position. */
export const findMcp = read('settings.findMcp', function* (q, input: SecretName): Steps<McpRows | undefined> {
  return yield* one(
    q.build
      .selectFrom('settings')
      .leftJoin('secrets', (join) =>
        join
          .onRef('secrets.user_id', '=', 'settings.user_id')
          .on('secrets.kind', '=', input.kind)
          .on('secrets.name', '=', input.name),
      )
      .select(['settings.document', 'secrets.sealed'])
      .where('settings.user_id', '=', input.userId),
  );
});

/** A secret that replaces the stored one. */
export type SecretWrite =
  | (SecretRow & { readonly sealed: string })
  /** Without an encrypted text the value stays and the rest changes. */
  | (SecretRow & { readonly sealed: undefined })
  | { readonly kind: string; readonly name: string; readonly sealed: null };

export interface SettingsWrite {
  readonly userId: number;
  /** The version that the change is based on. Another one means that somebody else was faster. */
  readonly expectedVersion: number;
  readonly document: string;
  readonly secrets: readonly SecretWrite[];
  readonly audit: readonly AuditEntry[];
}

export type SettingsOutcome = 'stored' | 'conflict' | 'stale_seal';

function moveVersion(q: Queries, { userId, expectedVersion, document }: SettingsWrite) {
  const stored = { version: expectedVersion + 1, document, updated_at: q.now };
  if (expectedVersion === 0)
    return q.build
      .insertInto('settings')
      .values({ user_id: userId, ...stored })
      .onConflict((c) => c.column('user_id').doNothing())
      .returning('version');
  return q.build
    .updateTable('settings')
    .set(stored)
    .where('user_id', '=', userId)
    .where('version', '=', expectedVersion)
    .returning('version');
}

function writeSecret(q: Queries, userId: number, secret: SecretWrite) {
  const { kind, name, sealed } = secret;
  if (sealed === null)
    return q.build
      .deleteFrom('secrets')
      .where('user_id', '=', userId)
      .where('kind', '=', kind)
      .where('name', '=', name);
  const { host, description } = secret as SecretRow;
  if (sealed === undefined)
    return q.build
      .updateTable('secrets')
      .set({ host, description })
      .where('user_id', '=', userId)
      .where('kind', '=', kind)
      .where('name', '=', name);
  return q.build
    .insertInto('secrets')
    .values({ user_id: userId, kind, name, sealed, host, description })
    .onConflict((c) => c.columns(['user_id', 'kind', 'name']).doUpdateSet({ sealed, host, description }));
}

/** All or nothing. The version comes first, because it locks out other writers of the same user. */
export const storeSettings = write(
  'settings.store',
  function* (q, change: SettingsWrite): Steps<SettingsOutcome> {
    const sealed = change.secrets.flatMap((secret) => secret.sealed ?? []);
    if (sealed.length > 0 && !(yield* encryptedWithActiveKey(q, sealed))) return 'stale_seal';
    if ((yield* one(moveVersion(q, change))) === undefined) return 'conflict';
    for (const secret of change.secrets) yield* rows(writeSecret(q, change.userId, secret));
    yield* recordAudit(q, change.audit);
    return 'stored';
  },
);

export const settingsTransactions = [findSettings, findSealed, findMcp, storeSettings];
