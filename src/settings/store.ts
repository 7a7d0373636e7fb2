// One JSON document and a version per user, beside the names of that user's secrets.
import { one, prepared, type Queries, read, rows, type Steps } from '../db/transaction.ts';

export interface SettingsRows {
  readonly version: number;
  readonly document: string;
  readonly secrets: readonly {
    readonly kind: string;
    readonly name: string;
    readonly host: string | null;
    readonly description: string | null;
  }[];
}

const selectSettings = prepared((q: Queries, input: { userId: number }) =>
  q.build.selectFrom('settings').select(['version', 'document']).where('user_id', '=', input.userId),
);

const selectSecrets = prepared((q: Queries, input: { userId: number }) =>
  q.build
    .selectFrom('secrets')
    .select(['kind', 'name', 'host', 'description'])
    .where('user_id', '=', input.userId)
    .orderBy('kind')
    .orderBy('name'),
);

/** The rows of a user; one who never stored anything has an empty document of version 0. */
export const findSettings = read('settings.find', function* (q, userId: number): Steps<SettingsRows> {
  const stored = yield* one(selectSettings(q, { userId }));
  const secrets = yield* rows(selectSecrets(q, { userId }));
  return { version: stored?.version ?? 0, document: stored?.document ?? '{}', secrets };
});

export const settingsTransactions = [findSettings];
