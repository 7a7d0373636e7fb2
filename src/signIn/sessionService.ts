// Lists and ends sessions: one's own, and those of others for administrators.
import type { Database } from '../db/transaction.ts';
import { AppError } from '../errors.ts';
import { isSessionId } from '../keys/credentials.ts';
import type { Principal } from '../keys/principal.ts';
import type { Keys } from '../keys/service.ts';
import {
  deleteOldSessions,
  endSessions,
  findSession,
  listSessions,
  type SessionRow,
} from '../keys/sessionStore.ts';
import { repeat } from '../process/repeat.ts';
import { findUser } from '../users/store.ts';
import type { SessionRecord } from './schema.ts';

const deleteEveryMs = 60 * 60_000;
/** How long an ended session is kept. */
const keptMs = 30 * 24 * 60 * 60_000;

interface SessionsOptions {
  readonly database: Database;
  readonly keys: Pick<Keys, 'forget' | 'forgetAll' | 'flushUses'>;
  readonly onBackgroundError: (error: Error) => void;
  readonly now?: () => number;
}

export type Sessions = ReturnType<typeof createSessions>;

const missing = () => new AppError('not_found', 'This session does not exist.');

export function createSessions({ database, keys, onBackgroundError, now = Date.now }: SessionsOptions) {
  const iso = (at: number) => new Date(at).toISOString();
  const toRecord = (row: SessionRow, { keyId }: Principal): SessionRecord => ({
    id: row.id,
    browser: row.browser,
    is_current: row.id === keyId,
    created_at: iso(row.created_at),
    last_used_at: iso(row.last_used_at),
    expires_at: iso(row.expires_at),
    ends_at: iso(row.ends_at),
  });

  async function deleteOld(): Promise<void> {
    while ((await database.run(deleteOldSessions, { before: now() - keptMs })) > 0);
  }
  const deletion = repeat(deleteOld, deleteEveryMs, onBackgroundError);

  /** A session may end itself. Ending another one requires `keys:manage`, and one of another user requires `admin`. */
  function mayEnd({ keyId, userId, scopes }: Principal, session: SessionRow): boolean {
    if (session.id === keyId || scopes.has('admin')) return true;
    return session.user_id === userId && scopes.has('keys:manage');
  }

  async function userIdOf(name: string): Promise<number> {
    const user = await database.run(findUser, name);
    if (user === undefined) throw new AppError('not_found', 'This user does not exist.');
    return user.id;
  }

  async function endAllOf(userId: number, by: string): Promise<{ ended: number }> {
    const ended = await database.run(endSessions, { userId, by });
    keys.forgetAll();
    return { ended: ended.length };
  }

  return {
    list: async (principal: Principal): Promise<SessionRecord[]> => {
      await keys.flushUses().catch(onBackgroundError);
      const rows = await database.run(listSessions, { userId: principal.userId, at: now() });
      return rows.map((row) => toRecord(row, principal));
    },
    /** Ends one session, at once here and within a second in other processes. */
    end: async (principal: Principal, id: string): Promise<{ ended: number }> => {
      const session = isSessionId(id) ? await database.run(findSession, id) : undefined;
      if (session === undefined || !mayEnd(principal, session)) throw missing();
      const { user_id: userId } = session;
      const ended = await database.run(endSessions, { userId, id, by: principal.keyId });
      keys.forget(id);
      return { ended: ended.length };
    },
    endAll: ({ userId, keyId }: Principal) => endAllOf(userId, keyId),
    /** `by` is the id of the caller's key, for the audit log. */
    endAllOfUser: async (by: string, name: string) => endAllOf(await userIdOf(name), by),
    deleteOld: deletion.run,
    close: deletion.stop,
  };
}
