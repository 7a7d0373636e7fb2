// Facts about the encryption keys, and every location of encrypted text, so that a rotation finds them all.
import { recordAudit } from '../audit/store.ts';
import { one, type Queries, read, repeatableWrite, rows, type Steps } from '../db/transaction.ts';
import { ownerName } from '../users/owner.ts';
import { ensureUserSteps } from '../users/store.ts';
import { keyIdOf } from './encrypt.ts';

export const fingerprintFact = 'fingerprint-key';
export const fingerprintOwner: readonly string[] = ['fact', fingerprintFact];
export const activeKeyFact = 'sealing-key';

export const findFact = read('secrets.findFact', function* (q, name: string) {
  const found = yield* one(q.build.selectFrom('facts').select('value').where('name', '=', name));
  return found?.value;
});

/** Stores the value unless there is one already. Returns the stored value. */
export const keepFact = repeatableWrite(
  'secrets.keepFact',
  function* (q, fact: { name: string; value: string }) {
    yield* rows(
      q.build
        .insertInto('facts')
        .values(fact)
        .onConflict((c) => c.column('name').doNothing()),
    );
    const kept = yield* one(q.build.selectFrom('facts').select('value').where('name', '=', fact.name));
    return kept?.value ?? fact.value;
  },
);

export interface Activation {
  readonly keyId: string;
  /** The name that appears in the audit log. */
  readonly by: string;
}

/** After this, values that were encrypted with another key can no longer be stored. */
export const activateKey = repeatableWrite(
  'secrets.activateKey',
  function* (q, input: Activation): Steps<void> {
    const { keyId, by } = input;
    const changed = yield* one(
      q.build
        .updateTable('facts')
        .set({ value: keyId })
        .where('name', '=', activeKeyFact)
        .where('value', '<>', keyId)
        .returning('name'),
    );
    if (changed === undefined) return;
    const owner = yield* ensureUserSteps(q, ownerName);
    yield* recordAudit(q, [{ userId: owner.id, keyId: by, action: 'sealing-key.rotate', subject: keyId }]);
  },
);

/**
 * Whether these texts were encrypted with the active key. It must run in the transaction that stores them: its lock
 * keeps a rotation out until the commit.
 */
export function* encryptedWithActiveKey(q: Queries, sealed: readonly string[]): Steps<boolean> {
  const query = q.build.selectFrom('facts').select('value').where('name', '=', activeKeyFact);
  const active = yield* one(q.kind === 'postgres' ? query.forShare() : query);
  return sealed.every((text) => keyIdOf(text) === active?.value);
}

/** An encrypted text with its location and owner. */
export interface EncryptedLocation {
  readonly table: 'secrets' | 'conversations' | 'webhooks' | 'snapshots' | 'facts';
  readonly userId: number;
  /** The kind and name of a secret, the id of a conversation, webhook or snapshot, or the name of a fact. */
  readonly name: readonly string[];
  readonly encrypted: string;
  /** The internal key of a conversation; 0 elsewhere. */
  readonly key: number;
}

const ownerWords = {
  secrets: 'secret',
  conversations: 'conversation',
  webhooks: 'webhook',
  snapshots: 'snapshot',
} as const;

/** The owner that an encrypted text is bound to. */
export function ownerOf({
  table,
  userId,
  name,
}: Pick<EncryptedLocation, 'table' | 'userId' | 'name'>): readonly string[] {
  if (table === 'facts') return ['fact', ...name];
  return [ownerWords[table], String(userId), ...name];
}

interface StaleInput {
  readonly keyId: string;
  readonly max: number;
  /** Conversations up to this key were read already, so that a million of them are read only once. */
  readonly after: number;
}

/** Stale texts of a table whose rows have a user and an id. */
function* listStaleById(
  q: Queries,
  table: 'webhooks' | 'snapshots',
  current: string,
  max: number,
): Steps<EncryptedLocation[]> {
  const found = yield* rows(
    q.build
      .selectFrom(table)
      .select(['user_id', 'id', 'sealed'])
      .where('sealed', 'not like', current)
      .limit(max),
  );
  return found.map(({ user_id: userId, id, sealed }) => ({
    table,
    userId,
    name: [id],
    encrypted: sealed,
    key: 0,
  }));
}

/** Some of the texts that another key has encrypted. Read from the start, it is empty when a rotation is done. */
export const listStale = read('secrets.listStale', function* (q, { keyId, max, after }: StaleInput): Steps<
  EncryptedLocation[]
> {
  const current = `v1.${keyId}.%`;
  const facts = yield* rows(
    q.build
      .selectFrom('facts')
      .select(['name', 'value'])
      .where('name', '=', fingerprintFact)
      .where('value', 'not like', current),
  );
  const secrets = yield* rows(
    q.build
      .selectFrom('secrets')
      .select(['user_id', 'kind', 'name', 'sealed'])
      .where('sealed', 'not like', current)
      .limit(max),
  );
  const webhooks = yield* listStaleById(q, 'webhooks', current, max);
  const snapshots = yield* listStaleById(q, 'snapshots', current, max);
  const conversations = yield* rows(
    q.build
      .selectFrom('conversations')
      .select(['key', 'user_id', 'id', 'sealed'])
      .where('key', '>', after)
      .where('sealed', 'is not', null)
      .where('sealed', 'not like', current)
      .orderBy('key')
      .limit(max),
  );
  return [
    ...facts.map((f) => ({ table: 'facts' as const, userId: 0, name: [f.name], encrypted: f.value, key: 0 })),
    ...secrets.map((s) => ({
      table: 'secrets' as const,
      userId: s.user_id,
      name: [s.kind, s.name],
      encrypted: s.sealed,
      key: 0,
    })),
    ...webhooks,
    ...snapshots,
    ...conversations.map((c) => ({
      table: 'conversations' as const,
      userId: c.user_id,
      name: [c.id],
      encrypted: c.sealed ?? '',
      key: c.key,
    })),
  ];
});

export interface Reencryption extends EncryptedLocation {
  readonly reencrypted: string;
}

function reencryptionQuery(
  q: Queries,
  { table, userId, name: [first = '', second = ''], encrypted, reencrypted }: Reencryption,
) {
  switch (table) {
    case 'facts':
      return q.build
        .updateTable('facts')
        .set({ value: reencrypted })
        .where('name', '=', first)
        .where('value', '=', encrypted);
    case 'secrets':
      return q.build
        .updateTable('secrets')
        .set({ sealed: reencrypted })
        .where('user_id', '=', userId)
        .where('kind', '=', first)
        .where('name', '=', second)
        .where('sealed', '=', encrypted);
    case 'webhooks':
    case 'snapshots':
      return q.build
        .updateTable(table)
        .set({ sealed: reencrypted })
        .where('id', '=', first)
        .where('sealed', '=', encrypted);
    case 'conversations':
      return q.build
        .updateTable('conversations')
        .set({ sealed: reencrypted })
        .where('user_id', '=', userId)
        .where('id', '=', first)
        .where('sealed', '=', encrypted);
  }
}

/** Replaces each text unless it has changed meanwhile. */
export const reencryptAll = repeatableWrite(
  'secrets.reseal',
  function* (q, texts: readonly Reencryption[]): Steps<void> {
    for (const text of texts) yield* rows(reencryptionQuery(q, text));
  },
);

export const secretTransactions = [findFact, keepFact, activateKey, listStale, reencryptAll];
