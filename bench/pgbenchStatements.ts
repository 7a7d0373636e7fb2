// What pgbench does beside the service: one statement that stores the rows which the service stores for one request.
// They are copied from rows of the service, so that both have the same size.
import { type TestStorage, withPostgres } from '../test/support/databases.ts';
import { createConversations } from './conversations.ts';
import { literal } from './pgbench.ts';
import { type Ask, postConversation, sendMessage } from './requests.ts';
import type { Service } from './service.ts';

export interface Comparison {
  readonly name: string;
  readonly title: string;
  /** Prepares the service and returns its requests. */
  readonly prepare: (service: Service, connections: number) => Promise<readonly Ask[]>;
  /** The statement of pgbench, made from rows of the service in its database. */
  readonly statement: (storage: TestStorage, connections: number) => Promise<string>;
}

const now = 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)';
/** As long as the ids of the service, and growing with time on each connection. */
const id = "'b' || lpad(cast(cast(:client_id as bigint) * 1000000000 + :n as text), 31, '0')";
const idOfConnection = "'c' || lpad(cast(:client_id as text), 31, '0')";

interface Copied {
  readonly user_id: string;
  readonly key: string;
  readonly next_event: string;
  readonly columns: Readonly<Record<string, string | null>>;
  readonly events: readonly string[];
  readonly change: string;
}

/** The newest conversation of the service with its rows. */
function copyRows(databaseUrl: string | undefined): Promise<Copied> {
  return withPostgres(databaseUrl ?? '', async (client) => {
    const { rows } = await client.query(
      `select user_id, key, next_event, json_build_object('fingerprint', fingerprint, 'status', status, 'title', title,
         'trigger', trigger, 'repository', repository, 'branch', branch, 'git_provider', git_provider,
         'request', request) as columns,
         (select array_agg(json order by place) from events where place >> 32 = key) as events,
         (select json from changes order by id desc limit 1) as change
       from conversations order by key desc limit 1`,
    );
    return rows[0] as Copied;
  });
}

function insertConversation({ user_id, next_event, columns }: Copied, idText: string): string {
  const names = Object.keys(columns);
  const values = Object.values(columns).map((value) => (value === null ? 'null' : literal(value)));
  return `insert into conversations (user_id, id, next_event, said, created_at, updated_at, ${names.join(', ')})
    values (${user_id}, ${idText}, ${next_event}, 1, ${now}, ${now}, ${values.join(', ')}) returning key`;
}

function eventRows(events: readonly string[]): string {
  return events.map((json, i) => `(${i}, ${literal(json)})`).join(', ');
}

/** One creation: the conversation, its events and the change. */
export const creations: Comparison = {
  name: 'POST conversation',
  title: 'Creating conversations beside pgbench',
  prepare: async () => [postConversation],
  statement: async ({ databaseUrl }) => {
    const copied = await copyRows(databaseUrl);
    return `with c as (${insertConversation(copied, id)}),
      e as (insert into events (place, json) select (c.key << 32) | v.i, v.json
        from c, (values ${eventRows(copied.events)}) as v (i, json))
      insert into changes (user_id, at, json) select ${copied.user_id}, ${now}, ${literal(copied.change)} from c`;
  },
};

/** One message: the next id of the conversation, and the event. Each connection has a conversation. */
export const appends: Comparison = {
  name: 'POST message',
  title: 'Appending messages beside pgbench',
  prepare: async ({ url }, connections) => (await createConversations(url, connections)).map(sendMessage),
  statement: async ({ databaseUrl = '' }, connections) => {
    const copied = await copyRows(databaseUrl);
    const inserted = Array.from({ length: connections }, (_, i) =>
      insertConversation(copied, idOfConnection.replace(':client_id', String(i))),
    );
    await withPostgres(databaseUrl, async (client) => {
      // pgbench escapes nothing else, so that PostgreSQL reads the same literals.
      for (const text of inserted) await client.query(text);
    });
    const event = literal((copied.events.at(-1) ?? '').replace(/^\{"id":\d+/, ''));
    return `with c as (update conversations set next_event = next_event + 1, said = next_event + 1, updated_at = ${now}
        where user_id = ${copied.user_id} and id = ${idOfConnection} returning key, next_event - 1 as event_id)
      insert into events (place, json)
      select (key << 32) | event_id, ${literal('{"id":')} || event_id || ${event} from c`;
  },
};
