// Imports conversations of another server. The id stays the same, so that an import can be repeated: what is stored
// already is found, and nothing is stored twice.
import { userTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import type { Vault } from '../../encryption/vault.ts';
import type { EventText } from '../../events/store.ts';
import type { ConversationName } from '../id.ts';
import {
  appendImported,
  beginImport,
  discardImport,
  findFingerprint,
  type ImportedRow,
  publishImported,
  storeImported,
} from './store.ts';

const discardedAtOnceMax = 10_000;

/** A conversation of another server, as its log is read. */
export interface ImportedConversation {
  /** The log in pieces of bounded size. */
  readonly pieces: Iterable<readonly EventText[]>;
  /** Called after the first piece, and again after the last: the log may tell more than the other server has stored. */
  readonly describe: () => Omit<ImportedRow, keyof ConversationName | 'fingerprint'>;
}

/** `exists`: an earlier import stored it. `taken`: the user has another conversation with this id, or gets one now. */
export type ImportOutcome = 'imported' | 'exists' | 'taken' | 'discarded';

interface ImportsOptions {
  readonly database: Database;
  readonly vault: Pick<Vault, 'fingerprint'>;
  readonly now?: () => number;
}

export type Imports = ReturnType<typeof createImports>;

export function createImports({ database, vault, now = Date.now }: ImportsOptions) {
  const fingerprintOf = ({ id }: ConversationName) => vault.fingerprint(`imported conversation\n${id}`);

  /** Finds out without reading the log whether there is something to do. */
  async function find(name: ConversationName): Promise<'exists' | 'taken' | undefined> {
    const found = await database.run(findFingerprint, name);
    if (found === undefined) return undefined;
    return found === fingerprintOf(name) ? 'exists' : 'taken';
  }

  async function storeLong(
    row: () => ImportedRow,
    first: readonly EventText[],
    rest: Iterator<readonly EventText[]>,
    at: string,
  ): Promise<ImportOutcome> {
    const key = await database.run(beginImport, row());
    if (key === undefined) return 'taken';
    let count = 0;
    for (let events = first; ; ) {
      if (!(await database.run(appendImported, { key, firstId: count, events }))) return 'discarded';
      count += events.length;
      const next = rest.next();
      if (next.done) break;
      events = next.value;
    }
    return (await database.run(publishImported, { ...row(), key, count, at })) ? 'imported' : 'taken';
  }

  /** Stores the conversation, STOPPED and with its whole log, or nothing that anybody can see. */
  async function store(
    name: ConversationName,
    { pieces, describe }: ImportedConversation,
  ): Promise<ImportOutcome> {
    const row = (): ImportedRow => ({ ...name, ...describe(), fingerprint: fingerprintOf(name) });
    const iterator = pieces[Symbol.iterator]();
    const first = iterator.next().value ?? [];
    const second = iterator.next();
    const at = new Date(now()).toISOString();
    const outcome = second.done
      ? (await database.run(storeImported, { ...row(), events: first, at }))
        ? 'imported'
        : 'taken'
      : await storeLong(row, first, withFirst(second.value, iterator), at);
    if (outcome === 'imported') database.notify([userTopic(name.userId)]);
    return outcome === 'taken' ? ((await find(name)) ?? 'taken') : outcome;
  }

  /** Deletes what an interrupted import of this user has left. An import in progress stops with `discarded`. */
  async function discardUnfinished(userId: number): Promise<void> {
    while (await database.run(discardImport, { userId, max: discardedAtOnceMax }));
  }

  return { find, store, discardUnfinished };
}

function* withFirst<Item>(first: Item, rest: Iterator<Item>): Generator<Item, void> {
  yield first;
  for (let next = rest.next(); !next.done; next = rest.next()) yield next.value;
}
