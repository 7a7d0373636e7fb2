// Fills a PostgreSQL database with many users and conversations, quickly: copies of one that the store itself created.
import { openConfiguredDatabase } from '../src/database.ts';
import { type TestStorage, withPostgres } from '../test/support/databases.ts';
import { createMakers, createMany } from './creations.ts';
import { fail } from './store.ts';

export interface Amount {
  readonly users: number;
  readonly conversations: number;
}

const scopes = ['settings:read', 'settings:write', 'conversations:read', 'conversations:write'];

/** Eight conversations are created per millisecond; ids are like those of the service. */
const idExpression =
  "lpad(to_hex($2::bigint + i / 8), 12, '0') || '7' || lpad(to_hex(i % 4096), 3, '0') || md5(i::text)::char(16)";

/** The key of a user, whose id follows from the number of the user. */
export function keyOfUser(number: number): string {
  return `pk_${number.toString(16).padStart(16, '0')}_${'k'.repeat(43)}`;
}

const keyId = "lpad(to_hex(u.number), 16, '0')";
const keyText = `'pk_' || ${keyId} || '_' || repeat('k', 43)`;
/** The users of the benchmark with their numbers, from 0. */
const benchUsers = "(select id, substr(name, 7)::bigint as number from users where name like 'bench-%') u";

interface Step {
  readonly text: string;
  readonly values: readonly unknown[];
}

function stepsOf({ users, conversations }: Amount, columns: string): readonly Step[] {
  const begin = Date.now() - conversations;
  return [
    {
      text: `insert into users (name, created_at) select 'bench-' || i, $2 from generate_series(0, $1::bigint - 1) i`,
      values: [users, begin],
    },
    {
      text: `insert into keys (id, user_id, kind, name, hash, scopes, created_at)
        select ${keyId}, u.id, 'session', 'bench', encode(sha256((${keyText})::bytea), 'hex'), $1, $2
        from ${benchUsers}`,
      values: [JSON.stringify(scopes), begin],
    },
    {
      text: `insert into settings (user_id, version, document, updated_at)
        select u.id, 1, $1, $2 from ${benchUsers}`,
      values: [JSON.stringify({ language: 'en', agent: 'builtin' }), begin],
    },
    {
      // Users have had their conversations at all times. Most of them are over.
      text: `insert into conversations (user_id, id, created_at, updated_at, status, stop_code, stop_sentence,
          ${columns.replaceAll('c.', '')})
        select u.id, ${idExpression}, $2 + i / 8, $2 + i / 8, 'STOPPED', 'finished', 'The agent has finished.', ${columns}
        from generate_series(0, $1::bigint - 1) i join ${benchUsers} on u.number = i % $3, conversations c
        where c.key = 1 order by i`,
      values: [conversations, begin, users],
    },
    {
      text: `insert into events (place, json) select (c.key << 32) | e.id, e.json
        from conversations c join event_log e on e.conversation_key = 1 where c.key > 1 order by c.key, e.id`,
      values: [],
    },
    {
      text: `insert into changes (user_id, at, json) select c.user_id, c.created_at, first.json
        from conversations c, (select json from changes limit 1) first where c.key > 1 order by c.key`,
      values: [],
    },
  ];
}

/** Creates users with a key and settings, and their conversations, each with its first events. */
export async function fillPostgres(storage: TestStorage, amount: Amount): Promise<void> {
  const database = await openConfiguredDatabase(storage, fail);
  const { timeOrdered } = await createMakers(database);
  await createMany(database, timeOrdered, { inFlight: 1, more: (begun) => begun < 1 });
  await database.close();
  await withPostgres(storage.databaseUrl ?? '', async (client) => {
    await client.query('set synchronous_commit = off');
    const { rows } = await client.query(
      `select string_agg('c.' || column_name, ', ') as copied from information_schema.columns
       where table_name = 'conversations' and is_identity = 'NO' and column_name <> all ($1)`,
      [['user_id', 'id', 'created_at', 'updated_at', 'status', 'stop_code', 'stop_sentence']],
    );
    const copied = String(rows[0]?.copied);
    for (const { text, values } of stepsOf(amount, copied)) await client.query(text, [...values]);
    await client.query('vacuum (analyze)');
    await client.query('checkpoint');
  });
}

export interface TableSize {
  readonly name: string;
  readonly rows: number;
  readonly tableBytes: number;
  readonly indexBytes: number;
}

/** How much the rows of a filled database take. */
export function tableSizes(databaseUrl: string, names: readonly string[]): Promise<TableSize[]> {
  return withPostgres(databaseUrl, async (client) => {
    const { rows } = await client.query(
      `select relname as name, reltuples as rows, pg_table_size(oid) as table_bytes, pg_indexes_size(oid) as index_bytes
       from pg_class where relname = any ($1) and relkind = 'r' order by array_position($1, relname::text)`,
      [names],
    );
    return rows.map((row) => ({
      name: String(row.name),
      rows: Number(row.rows),
      tableBytes: Number(row.table_bytes),
      indexBytes: Number(row.index_bytes),
    }));
  });
}
