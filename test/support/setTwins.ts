// Two PostgreSQL databases in the same state: in one, calls run in sets, in the other, one after the other.
import { createConversation } from '../../src/conversations/create/store.ts';
import type { Database } from '../../src/db/transaction.ts';
import { ensureUser } from '../../src/users/store.ts';
import { newConversation } from './conversations.ts';
import { type TestStorage, withPostgres } from './databases.ts';
import { existing, runId } from './setCalls.ts';

type User = 'plain' | 'hooked';

export interface Twin {
  readonly database: Database & TestStorage;
  /** The limit of all its calls; 0 means none. */
  readonly waitingMax: number;
  readonly userIds: Readonly<Record<User, number>>;
  /** The keys of the existing conversations. */
  readonly keys: Readonly<Record<User, Readonly<Record<(typeof existing)[number], number>>>>;
}

const noKeys = { waiting: 0, running: 0, stopped: 0, ending: 0, halted: 0 };

const statements = [
  `update conversations set status = 'RUNNING', run_id = '${runId}', claims = 1 where id in ('running', 'ending', 'halted')`,
  "update conversations set wanted = 'stop' where id = 'ending'",
  "update conversations set status = 'STOPPED', stop_code = 'user', stop_sentence = 's' where id in ('stopped', 'halted')",
  `insert into idempotency (user_id, key_hash, fingerprint, conversation_id, event_id, expires_at)
     select id, 'expired', 'f', 'waiting', null, 1 from users on conflict do nothing`,
  "insert into facts (name, value) values ('sealing-key', 'active') on conflict do nothing",
];

/** Creates users of this number, one with a webhook, and their conversations. */
export async function prepareTwin(
  database: Database & TestStorage,
  number: number,
  waitingMax: number,
): Promise<Twin> {
  const twin: Twin = {
    database,
    waitingMax,
    userIds: { plain: 0, hooked: 0 },
    keys: { plain: { ...noKeys }, hooked: { ...noKeys } },
  };
  for (const user of ['plain', 'hooked'] as const) {
    const { id: userId } = await database.run(ensureUser, `${user}-${number}`);
    Object.assign(twin.userIds, { [user]: userId });
    for (const id of existing) {
      const made = await database.run(createConversation, newConversation(userId, id));
      if (made.outcome === 'created') Object.assign(twin.keys[user], { [id]: made.key });
    }
  }
  await withPostgres(database.databaseUrl ?? '', async (client) => {
    for (const text of statements) await client.query(text);
    await client.query(
      `insert into webhooks (id, user_id, url, events, sealed, created_at)
       values ($1, $2, 'https://example.com', '["conversation.status","conversation.event"]', 'x', 0)`,
      [`hook-${number}`, twin.userIds.hooked],
    );
  });
  return twin;
}

/** What the database has stored for the two users, without keys and times, which may differ. */
export async function dumpTwin({ database, userIds }: Twin): Promise<unknown> {
  const ids = Object.values(userIds);
  return withPostgres(database.databaseUrl ?? '', async (client) => {
    const read = async (text: string) => (await client.query(text, [ids])).rows;
    const user = 'array_position($1, user_id) as "user"';
    return {
      conversations: await read(
        `select ${user}, to_jsonb(c) - '{key,user_id,created_at,updated_at,active_at,lease_until,reserved_until}'::text[] as columns,
           active_at is null as never_active, lease_until is null as no_lease, updated_at >= created_at as in_order
         from conversations c where user_id = any($1) order by 1, id`,
      ),
      events: await read(
        `select ${user}, c.id, e.json from events e join conversations c on c.key = e.place >> 32
         where user_id = any($1) order by 1, c.id, e.place`,
      ),
      patches: await read(
        `select ${user}, c.id, patch from workspace_patches join conversations c on c.key = conversation_key
         where user_id = any($1) order by 1, 2`,
      ),
      changes: await read(`select ${user}, json from changes where user_id = any($1) order by 1, json`),
      keys: await read(
        `select ${user}, key_hash, fingerprint, conversation_id, event_id,
           expires_at > extract(epoch from now()) * 1000 as is_valid
         from idempotency where user_id = any($1) order by 1, key_hash`,
      ),
      deliveries: await read(
        `select ${user}, conversation_id, type, payload, event_id from deliveries
         where user_id = any($1) order by 1, 2, 3, 4, 5`,
      ),
    };
  });
}
