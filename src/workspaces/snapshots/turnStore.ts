// The snapshots after each of the last turns of a conversation, with which it can be forked.
import { type Queries, read, rows, type Steps } from '../../db/transaction.ts';
import { turnsMax } from './bounds.ts';

/** A turn in which, at the latest, the agent was given what the user said in this range of events. */
export interface SnapshotTurn {
  readonly from: number;
  /** The event id after the last one. */
  readonly heard: number;
}

interface TurnFiles {
  readonly id: string;
  readonly blob: string;
  readonly takenAt: number;
}

/** Records the files after a turn, and forgets those of the oldest turn if there are too many. */
export function* recordTurn(q: Queries, { id, blob, takenAt }: TurnFiles, turn: SnapshotTurn): Steps<void> {
  const files = { blob, taken_at: takenAt };
  yield* rows(
    q.build
      .insertInto('snapshot_turns')
      .values({ snapshot_id: id, heard: turn.heard, given_from: turn.from, ...files })
      .onConflict((conflict) => conflict.columns(['snapshot_id', 'heard']).doUpdateSet(files)),
  );
  const kept = q.build
    .selectFrom('snapshot_turns')
    .select('heard')
    .where('snapshot_id', '=', id)
    .orderBy('heard', 'desc')
    .limit(turnsMax);
  yield* rows(
    q.build.deleteFrom('snapshot_turns').where('snapshot_id', '=', id).where('heard', 'not in', kept),
  );
}

/** The blobs that list those of the last turns, and those that forks need which have no snapshot of their own yet. */
export const listNeededBlobs = read('snapshots.listNeeded', function* (q, id: string): Steps<string[]> {
  const turns = yield* rows(
    q.build.selectFrom('snapshot_turns').select('blob').where('snapshot_id', '=', id),
  );
  const held = yield* rows(
    q.build
      .selectFrom('snapshots')
      .select('source_blob as blob')
      .where('source_id', '=', id)
      .where('removed_at', 'is', null),
  );
  return [...new Set([...turns, ...held].flatMap(({ blob }) => blob ?? []))];
});

export const turnTransactions = [listNeededBlobs];
