// What a socket sends when it connects: which conversation, from which event on, and with which API key.
import type { IncomingHttpHeaders } from 'node:http';

export interface Handshake {
  readonly conversationId: string | undefined;
  /** The last event that the client has; -1 if it has none. */
  readonly latestEventId: number;
  readonly key: string | undefined;
}

type Query = Readonly<Record<string, string | string[] | undefined>>;

/** JavaScript clients send these words for a missing value. */
const absent = new Set(['', 'null', 'undefined', 'None']);

function textOf(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  return text === undefined || absent.has(text) ? undefined : text;
}

export function readHandshake(query: Query, headers: IncomingHttpHeaders): Handshake {
  const latest = textOf(query['latest_event_id']) ?? '';
  return {
    conversationId: textOf(query['conversation_id']),
    latestEventId: /^\d{1,15}$/.test(latest) ? Number(latest) : -1,
    key: textOf(headers['x-session-api-key']) ?? textOf(query['session_api_key']),
  };
}
