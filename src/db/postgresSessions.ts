// Recognises connections that are not sessions of their own, as behind PgBouncer in transaction mode. There, each
// transaction may run in another session, so that notifications, prepared statements and settings get lost.
import type pg from 'pg';
import { RefusalError } from '../errors.ts';

async function backendOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  return Number(rows[0]?.pid);
}

/**
 * Throws if the first client does not keep its session while and after the second one has a transaction. A pooler that
 * hands out the session that was used last gives it to the second client; one that hands out all of them in turn gives
 * another to the first client.
 */
export async function checkSessions(first: pg.ClientBase, second: pg.ClientBase): Promise<void> {
  const own = await backendOf(first);
  await second.query('begin');
  let isKept = (await backendOf(second)) !== own;
  // In a pool with one session, the first client would wait for it.
  if (isKept) isKept = (await backendOf(first)) === own;
  await second.query('commit');
  for (let i = 0; i < 2 && isKept; i++) isKept = (await backendOf(first)) === own;
  if (isKept) return;
  throw new RefusalError(
    'DATABASE_URL leads to a connection pooler that shares sessions between clients, such as PgBouncer with pool_mode=transaction. Parley needs sessions of its own: connect to PostgreSQL directly, or set pool_mode=session.',
  );
}
