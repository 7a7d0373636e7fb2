// Events as existing clients know them. Only their socket uses this: pages of events and the trajectory are complete.
import type { Change } from '../events/changes/schema.ts';
import type { Entry } from '../events/receiver.ts';

/** What is sent as `oh_event`. */
export type SocketEvent = Readonly<Record<string, unknown>>;

/** Types that these clients would show as raw JSON. */
const leftOut = new Set(['usage', 'agent_update', 'workspace_removed', 'task_tracking']);

/** The event as a packet of the socket.io protocol, version 5: 2 is the type EVENT. */
export function toPacket(event: SocketEvent): string {
  return `2${JSON.stringify(['oh_event', event])}`;
}

/** A line above the input of the client. */
export function statusUpdate(fields: SocketEvent): SocketEvent {
  return { status_update: true, type: 'info', ...fields };
}

/** What a failed action looks like. */
export function errorEvent(message: string): SocketEvent {
  return { error: true, message };
}

/** Undefined if the client would not understand the event. */
export function translate(event: SocketEvent): SocketEvent | undefined {
  const { action, observation, message, content } = event;
  const type = String(action ?? observation);
  if (leftOut.has(type)) return undefined;
  if (observation === 'notice') return statusUpdate({ message: message ?? content ?? '' });
  // Logs of earlier versions have other names for these.
  if (action === 'call_tool') return { ...event, action: 'call_tool_mcp' };
  if (observation === 'call_tool') return { ...event, observation: 'mcp' };
  return event;
}

export interface TranslatedEntry {
  readonly id: number;
  readonly packet: string | undefined;
  readonly isStateChange: boolean;
}

/** Translates a batch once for all sockets. */
export function translateEntries(entries: readonly Entry[]): readonly TranslatedEntry[] {
  return entries.map(({ cursor, data }) => {
    const event = translate(JSON.parse(data) as SocketEvent);
    return {
      id: Number(cursor),
      packet: event && toPacket(event),
      isStateChange: event?.['observation'] === 'agent_state_changed',
    };
  });
}

const statusTexts = {
  STARTING: { id: 'STATUS$STARTING_RUNTIME', message: 'The conversation is starting.' },
  RUNNING: { id: 'STATUS$READY', message: 'The agent is ready.' },
  STOPPED: { id: 'STATUS$STOPPED', message: 'The conversation has stopped.' },
} as const;

/** Returns a function that makes updates of one conversation out of changes of all: a new title or status. */
export function createUpdates(conversationId: string, firstTitle: string) {
  let [title, status]: [string, Change['status'] | undefined] = [firstTitle, undefined];
  return (data: string): readonly SocketEvent[] => {
    const change = JSON.parse(data) as Change;
    if (change.conversation_id !== conversationId || change.status === null) return [];
    const updates: SocketEvent[] = [];
    if (change.title !== title)
      updates.push(statusUpdate({ message: conversationId, conversation_title: change.title }));
    if (change.status !== status) updates.push(statusUpdate(statusTexts[change.status]));
    [title, status] = [change.title, change.status];
    return updates;
  };
}
