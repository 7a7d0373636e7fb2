// What a fork takes over from the conversation that it is forked from, and which of its turns an event belongs to.
import { one, type Queries, read, rows, type Steps } from '../../db/transaction.ts';
import type { StoredEvent } from '../../events/store.ts';
import type { ConversationName } from '../id.ts';

const sourceColumns = [
  'key',
  'id',
  'title',
  'repository',
  'branch',
  'git_provider',
  'agent',
  'llm_model',
  'confirmation_mode',
  'client_folder',
  'request',
  'sealed',
  'next_event',
  'said',
  'forked_event',
] as const;

export interface ForkSource {
  readonly key: number;
  readonly id: string;
  readonly title: string;
  readonly repository: string | null;
  readonly branch: string | null;
  readonly git_provider: string | null;
  readonly agent: string | null;
  readonly llm_model: string | null;
  readonly confirmation_mode: number | null;
  readonly client_folder: string | null;
  readonly request: string;
  readonly sealed: string | null;
  readonly next_event: number;
  readonly said: number;
  readonly forked_event: number | null;
  readonly files: readonly TurnFiles[];
}

/** The files after a turn. */
export interface TurnFiles {
  /** In this turn at the latest, the agent was given what the user said from `from` on and before `heard`. */
  readonly from: number;
  readonly heard: number;
  readonly snapshotId: string;
  readonly blob: string;
  readonly takenAt: number;
  /** They are those of the last snapshot. */
  readonly isLatest: boolean;
}

/**
 * The files that the conversation can be forked with, oldest first. A fork that has no snapshot of its own yet has those
 * that it starts with.
 */
export function* turnFilesOf(
  q: Queries,
  { key, forked_event: forkedEvent }: Pick<ForkSource, 'key' | 'forked_event'>,
): Steps<TurnFiles[]> {
  const snapshot = yield* one(
    q.build
      .selectFrom('snapshots')
      .select(['id', 'blob', 'taken_at', 'heard', 'source_id', 'source_blob'])
      .where('conversation_key', '=', key)
      .where('removed_at', 'is', null),
  );
  if (snapshot === undefined) return [];
  const { id, blob, taken_at: takenAt, source_id: sourceId, source_blob: sourceBlob } = snapshot;
  if (sourceId !== null && sourceBlob !== null) {
    const files = { snapshotId: sourceId, blob: sourceBlob, takenAt: takenAt ?? 0 };
    return [{ from: 0, heard: (forkedEvent ?? 0) + 1, ...files, isLatest: true }];
  }
  if (blob === null) return [];
  const turns = yield* rows(
    q.build
      .selectFrom('snapshot_turns')
      .select(['heard', 'given_from', 'blob', 'taken_at'])
      .where('snapshot_id', '=', id)
      .orderBy('heard'),
  );
  const known = turns.map((turn) => ({
    from: turn.given_from,
    heard: turn.heard,
    snapshotId: id,
    blob: turn.blob,
    takenAt: turn.taken_at,
    isLatest: turn.blob === blob,
  }));
  // The last snapshot may be that of no turn, such as in the middle of one.
  return known.some(({ isLatest }) => isLatest)
    ? known
    : [...known, { from: 0, heard: -1, snapshotId: id, blob, takenAt: takenAt ?? 0, isLatest: true }];
}

/** Undefined if the user has no such conversation. */
export const findForkSource = read('forks.findSource', function* (q, { userId, id }: ConversationName): Steps<
  ForkSource | undefined
> {
  const found = yield* one(
    q.build
      .selectFrom('conversations')
      .select([...sourceColumns])
      .where('user_id', '=', userId)
      .where('id', '=', id),
  );
  return found && { ...found, files: yield* turnFilesOf(q, found) };
});

function isMessage({ json }: StoredEvent): boolean {
  if (!json.includes('"source":"user"')) return false;
  const { source, action, replayed } = JSON.parse(json) as Record<string, unknown>;
  return source === 'user' && action === 'message' && replayed !== true;
}

/** Reads the events from `from` on and before `below` in pieces, newest first. */
type ReadBackwards = (from: number, below: number) => AsyncIterable<readonly StoredEvent[]>;

/**
 * The files at the end of the turn that an event belongs to, which is that of the last message up to the event. Undefined
 * if there are none.
 */
export async function filesAfter(
  { said, files }: Pick<ForkSource, 'said' | 'files'>,
  eventId: number,
  readBackwards: ReadBackwards,
): Promise<TurnFiles | undefined> {
  const turns = files.filter(({ heard }) => heard > 0);
  const last = turns.findLast(({ heard }) => heard <= eventId + 1);
  // Messages before that belong to this turn, or to an earlier one.
  const from = last?.heard ?? 0;
  if (last !== undefined && said <= from) return last;
  for await (const piece of readBackwards(from, eventId + 1)) {
    const message = piece.find(isMessage);
    if (message !== undefined)
      return turns.find((turn) => turn.from <= message.id && message.id < turn.heard);
  }
  return last;
}
