// Sessions of people who signed in, as credentials: found by id, and extended by each use.
import { sql } from 'kysely';
import { recordAudit } from '../audit/store.ts';
import {
  one,
  prepared,
  type Queries,
  read,
  repeatableWrite,
  rows,
  type Steps,
  write,
} from '../db/transaction.ts';
import type { KeyUse } from './store.ts';

const listedMax = 1_000;
/** How many ended sessions one transaction deletes. */
const deletedMax = 1_000;

export interface SessionRow {
  readonly id: string;
  readonly user_id: number;
  readonly user: string;
  readonly hash: string;
  readonly scopes: string;
  readonly browser: string;
  readonly created_at: number;
  readonly last_used_at: number;
  readonly expires_at: number;
  readonly ends_at: number;
  readonly ended_at: number | null;
  /** If one of them is set, no session of the user is valid. */
  readonly disabled_at: number | null;
  readonly removed_at: number | null;
}

function selectSessions(q: Queries) {
  return q.build
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select([
      'sessions.id',
      'sessions.user_id',
      'users.name as user',
      'sessions.hash',
      'sessions.scopes',
      'sessions.browser',
      'sessions.created_at',
      'sessions.last_used_at',
      'sessions.expires_at',
      'sessions.ends_at',
      'sessions.ended_at',
      'users.disabled_at',
      'users.removed_at',
    ]);
}

const selectSession = prepared((q: Queries, input: { id: string }) =>
  selectSessions(q).where('sessions.id', '=', input.id),
);

export const findSession = read('sessions.find', function* (q, id: string): Steps<SessionRow | undefined> {
  return yield* one(selectSession(q, { id }));
});

interface SessionUses {
  readonly uses: readonly KeyUse[];
  readonly idleMs: number;
}

/** Each use extends a session that has not ended meanwhile. */
export const recordSessionUses = repeatableWrite(
  'sessions.recordUses',
  function* (q, { uses, idleMs }: SessionUses): Steps<void> {
    // Rows are locked in the same order everywhere, so that two processes cannot deadlock.
    for (const { id, at } of uses.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const until = at + idleMs;
      yield* rows(
        q.build
          .updateTable('sessions')
          .set({
            last_used_at: at,
            expires_at: sql<number>`case when ends_at < ${until} then ends_at else ${until} end`,
          })
          .where('id', '=', id)
          .where('ended_at', 'is', null)
          .where('expires_at', '>', at)
          .where('last_used_at', '<', at),
      );
    }
  },
);

/** The sessions of a user that have not ended at `at`, newest first. */
export const listSessions = read(
  'sessions.list',
  function* (q, { userId, at }: { userId: number; at: number }): Steps<SessionRow[]> {
    return yield* rows(
      selectSessions(q)
        .where('sessions.user_id', '=', userId)
        .where('sessions.ended_at', 'is', null)
        .where('sessions.expires_at', '>', at)
        .orderBy('sessions.created_at', 'desc')
        .orderBy('sessions.id')
        .limit(listedMax),
    );
  },
);

export interface SessionEnd {
  readonly userId: number;
  /** All sessions of the user if absent. */
  readonly id?: string;
  /** All sessions of this account at the provider, if present. */
  readonly identityId?: string;
  /** The id of the caller's key, for the audit log. */
  readonly by: string;
}

export function* endSessionSteps(q: Queries, { userId, id, identityId, by }: SessionEnd): Steps<string[]> {
  let query = q.build
    .updateTable('sessions')
    .set({ ended_at: q.now })
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null);
  if (id !== undefined) query = query.where('id', '=', id);
  if (identityId !== undefined) query = query.where('identity_id', '=', identityId);
  const ended = (yield* rows(query.returning('id'))).map((row) => row.id);
  yield* recordAudit(
    q,
    ended.map((subject) => ({ userId, keyId: by, action: 'session.end', subject })),
  );
  return ended;
}

/** Returns the ids of the sessions that it ended; repeating it changes nothing. */
export const endSessions = write('sessions.end', endSessionSteps);

/** Deletes some sessions that ended before a time. Returns how many. */
export const deleteOldSessions = repeatableWrite(
  'sessions.deleteOld',
  function* (q, { before }: { before: number }): Steps<number> {
    const old = q.build
      .selectFrom('sessions')
      .select('id')
      .where((e) => e.or([e('expires_at', '<', before), e('ended_at', '<', before)]))
      .limit(deletedMax);
    return (yield* rows(q.build.deleteFrom('sessions').where('id', 'in', old).returning('id'))).length;
  },
);

export const sessionTransactions = [
  findSession,
  recordSessionUses,
  listSessions,
  endSessions,
  deleteOldSessions,
];
