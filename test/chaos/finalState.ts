// What is there when the faults are over: rows of the database, and what the agents wrote in their workspaces.
import { join } from 'node:path';
import { readActivity } from '../fakeAgent/activity.ts';
import type { TestStorage } from '../support/databases.ts';
import { countStrays, inspect, type Row } from '../support/inspect.ts';
import type { FinalConversation, FinalUser, Workspace } from './history.ts';
import { fields } from './load.ts';
import type { User } from './operations.ts';

/** Retries are put off for this long at most after so few attempts; anything later was put off by mistake. */
const dueWithinMs = 15 * 60_000;

function toConversation(row: Row, user: string, events: FinalConversation['events']): FinalConversation {
  const text = (name: string) => (row[name] === null ? null : String(row[name]));
  return {
    user,
    key: Number(row['key']),
    id: String(row['id']),
    status: String(row['status']),
    stopCode: text('stop_code'),
    runId: text('run_id'),
    turnOpen: Number(row['turn_open']) === 1,
    heard: Number(row['heard']),
    nextEvent: Number(row['next_event']),
    events,
  };
}

export async function readConversations(storage: TestStorage): Promise<FinalConversation[]> {
  const names = await readUserNames(storage);
  const rows = await inspect(
    storage,
    'select key, user_id, id, status, stop_code, run_id, turn_open, heard, next_event from conversations order by key',
  );
  const events = await inspect(
    storage,
    'select conversation_key, cast(id as integer) as id, json from event_log order by conversation_key, id',
  );
  const logs = Map.groupBy(events, (event) => Number(event['conversation_key']));
  return rows.map((row) => {
    const log = logs.get(Number(row['key'])) ?? [];
    return toConversation(
      row,
      names.get(Number(row['user_id'])) ?? '',
      log.map(({ id, json }) => ({ id: Number(id), text: String(json) })),
    );
  });
}

async function readUserNames(storage: TestStorage): Promise<Map<number, string>> {
  const rows = await inspect(storage, 'select id, name from users');
  return new Map(rows.map(({ id, name }) => [Number(id), String(name)]));
}

async function readUser(storage: TestStorage, user: User): Promise<FinalUser> {
  const of = `user_id = (select id from users where name = '${user.name}')`;
  const [settings] = await inspect(storage, `select version, document from settings where ${of}`);
  const secrets = await inspect(
    storage,
    `select name, description from secrets where kind = 'custom' and ${of}`,
  );
  const document = JSON.parse(String(settings?.['document'] ?? '{}')) as Record<string, string | undefined>;
  return {
    name: user.name,
    version: Number(settings?.['version'] ?? 0),
    settings: Object.fromEntries([...fields, 'agent'].map((field) => [field, document[field] ?? null])),
    secrets: Object.fromEntries(secrets.map(({ name, description }) => [String(name), String(description)])),
    hasAgent: user.hasAgent,
  };
}

export async function readFinalState(storage: TestStorage, users: readonly User[]) {
  const conversations = await readConversations(storage);
  const workspaces: Workspace[] = conversations.map(({ user, id, key }) => ({
    user,
    conversation: id,
    lines: readActivity(join(storage.dataDir, 'conversations', String(key), 'home')),
  }));
  return {
    users: await Promise.all(users.map((user) => readUser(storage, user))),
    conversations,
    workspaces: workspaces.filter(({ lines }) => lines.length > 0),
    strays: await countStrays(storage),
  };
}

/** Brings forward what is due later for a good reason, as if the time had passed. Returns what is due too late. */
export async function hastenDeliveries(storage: TestStorage): Promise<string[]> {
  const nowMs = Date.now();
  const late = await inspect(
    storage,
    `select id, state, attempts, next_at from deliveries where state = 'failed' or next_at > ${nowMs + dueWithinMs}`,
  );
  await inspect(
    storage,
    `update deliveries set next_at = 0 where state <> 'failed' and next_at <= ${nowMs + dueWithinMs}`,
  );
  return late.map(
    ({ id, state, attempts, next_at: at }) =>
      `the webhook message ${id} is ${state} after ${attempts} attempts, due in ${Number(at) - nowMs} ms`,
  );
}
