// Records which uploads wait for the start of their conversation, and on which node their files are.
import { sql } from 'kysely';
import type { ConversationName } from '../../conversations/id.ts';
import { lockConversation } from '../../conversations/row.ts';
import { one, type Queries, read, repeatableWrite, rows, type Steps, write } from '../../db/transaction.ts';

interface Upload extends ConversationName {
  readonly uploadId: string;
  readonly nodeId: string;
  readonly files: number;
  readonly bytes: number;
  /** The bounds of the conversation and of the user, this upload included. */
  readonly filesMax: number;
  readonly bytesMax: number;
  readonly userBytesMax: number;
}

function* sums(q: Queries, column: 'user_id' | 'conversation_key', value: number) {
  const found = yield* one(
    q.build
      .selectFrom('uploads')
      .select((e) => [e.fn.sum<number>('files').as('files'), e.fn.sum<number>('bytes').as('bytes')])
      .where(column, '=', value),
  );
  return { files: Number(found?.files ?? 0), bytes: Number(found?.bytes ?? 0) };
}

/** Returns `missing` if there is no such conversation, and `too_much` if more waits than allowed. */
export const recordUpload = write('uploads.record', function* (q, upload: Upload): Steps<
  'recorded' | 'missing' | 'too_much'
> {
  const { uploadId, nodeId, files, bytes, filesMax, bytesMax, userBytesMax } = upload;
  const locked = yield* lockConversation(q, upload);
  if (locked === undefined) return 'missing';
  const waiting = yield* sums(q, 'conversation_key', locked.key);
  const users = yield* sums(q, 'user_id', locked.user_id);
  if (
    waiting.files + files > filesMax ||
    waiting.bytes + bytes > bytesMax ||
    users.bytes + bytes > userBytesMax
  )
    return 'too_much';
  yield* rows(
    q.build.insertInto('uploads').values({
      id: uploadId,
      conversation_key: locked.key,
      user_id: locked.user_id,
      node_id: nodeId,
      files,
      bytes,
      created_at: q.now,
    }),
  );
  return 'recorded';
});

export interface WaitingUpload {
  readonly id: string;
  readonly node_id: string;
}

/** The uploads of a conversation, oldest first. */
export const listUploads = read('uploads.list', function* (q, key: number): Steps<WaitingUpload[]> {
  return yield* rows(
    q.build
      .selectFrom('uploads')
      .select(['id', 'node_id'])
      .where('conversation_key', '=', key)
      .orderBy('created_at')
      .orderBy('id'),
  );
});

export const removeUpload = repeatableWrite('uploads.remove', function* (q, id: string): Steps<void> {
  yield* rows(q.build.deleteFrom('uploads').where('id', '=', id));
});

interface Prune {
  readonly ids: readonly string[];
  /** How long their conversation must have been stopped; null means that they are kept. */
  readonly stoppedMs: number | null;
}

/** Forgets uploads of conversations that stopped long ago. Returns which of the ids are still needed. */
export const pruneUploads = repeatableWrite('uploads.prune', function* (q, { ids, stoppedMs }: Prune): Steps<
  string[]
> {
  if (stoppedMs !== null)
    yield* rows(
      q.build
        .deleteFrom('uploads')
        .where('id', 'in', [...ids])
        .where('conversation_key', 'in', (e) =>
          e
            .selectFrom('conversations')
            .select('key')
            .where('status', '=', 'STOPPED')
            .where('updated_at', '<', sql<number>`${q.now} - ${stoppedMs}`),
        ),
    );
  const kept = yield* rows(
    q.build
      .selectFrom('uploads')
      .select('id')
      .where('id', 'in', [...ids]),
  );
  return kept.map(({ id }) => id);
});

export const uploadTransactions = [recordUpload, listUploads, removeUpload, pruneUploads];
