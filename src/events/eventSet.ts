// Appends events to many logs with one statement, which also gives them their ids.
import { type RawBuilder, sql } from 'kysely';
import { type CallRow, type ColumnLists, tableOf } from '../db/setColumns.ts';
import type { EventText } from './store.ts';

/** A call with more events runs by itself. */
export const setEventsMax = 16;

/** `call_n` is the call, `position` the index in its list, `answers` that of the event that this one answers. */
export const eventColumns = {
  call_n: 'bigint',
  position: 'bigint',
  answers: 'bigint',
  text: 'text',
} as const;

export type EventLists = ColumnLists<typeof eventColumns>;

export function eventRows(events: readonly EventText[], n: number): CallRow<typeof eventColumns>[] {
  return events.map((event, position) => {
    const { text, answers } = typeof event === 'string' ? { text: event, answers: null } : event;
    // Its id comes first in the object.
    return { call_n: n, position, answers, text: text.slice(1) };
  });
}

export function charsOf(events: readonly EventText[]): number {
  return events.reduce((sum, event) => sum + (typeof event === 'string' ? event : event.text).length, 0);
}

/** Inserts the events of the calls in `source`, which has the columns `n`, `key` and `first`, the id of the first event. */
export function insertEventsOf(source: string, lists: EventLists): RawBuilder<unknown> {
  const calls = sql.ref(source);
  const id = sql`(${calls}.first + position)`;
  const cause = sql`case when answers is null then '' else '"cause":' || (${calls}.first + answers) || ',' end`;
  return sql`
    insert into events (place, json)
    select (${calls}.key << 32) | ${id}, '{"id":' || ${id} || ',' || ${cause} || text
    from ${tableOf('event', eventColumns, lists)} join ${calls} on ${calls}.n = call_n`;
}
