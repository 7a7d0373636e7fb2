// Converts events and partials of a conversation to the updates of an ACP session. Text that was sent while it was being
// written is not sent again with its event.
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { LRUCache } from 'lru-cache';
import type { ParleyEvent, PartialEvent } from '../client/parley.ts';
import { type CallUpdatesOptions, createCallUpdates } from './callUpdates.ts';
import { commandUpdates } from './commandUpdates.ts';
import { isToolAction, isToolObservation } from './toolCalls.ts';

/** How many unfinished texts of a session are known at the same time. */
const textsMax = 200;

const planStatuses: Readonly<Record<string, 'pending' | 'in_progress' | 'completed'>> = {
  todo: 'pending',
  in_progress: 'in_progress',
  done: 'completed',
};

type ChunkKind = 'agent_message_chunk' | 'agent_thought_chunk' | 'user_message_chunk';

function chunk(sessionUpdate: ChunkKind, text: string, messageId: string): SessionUpdate[] {
  return text === '' ? [] : [{ sessionUpdate, content: { type: 'text', text }, messageId }];
}

interface UpdatesOptions extends CallUpdatesOptions {
  /** Whether the client shows notices apart from messages. */
  readonly hasNotices: boolean;
}

export type Updates = ReturnType<typeof createUpdates>;

export function createUpdates({ hasNotices, ...callOptions }: UpdatesOptions) {
  /** Up to which position the client has each message. */
  const sentTo = new LRUCache<string, number>({ max: textsMax });
  const calls = createCallUpdates(callOptions);

  function textOf(
    event: Extract<ParleyEvent, { partial?: unknown }>,
    text: string,
    kind: ChunkKind,
  ): SessionUpdate[] {
    if (event.partial === undefined || event.replayed === true) return chunk(kind, text, `event-${event.id}`);
    const { of, to } = event.partial;
    const from = to - text.length;
    const sent = sentTo.get(of) ?? from;
    sentTo.set(of, Math.max(sent, to));
    return chunk(kind, text.slice(Math.max(0, sent - from)), of);
  }

  function notice(messageId: string, text: string, severity: 'info' | 'error'): SessionUpdate[] {
    if (text === '') return [];
    if (hasNotices) return [{ sessionUpdate: 'notice', severity, title: text }];
    return chunk('agent_message_chunk', `${text}\n`, messageId);
  }

  function userMessage(event: Extract<ParleyEvent, { type: 'action.message' }>): SessionUpdate[] {
    const messageId = `event-${event.id}`;
    const images = event.args.image_urls.flatMap((url): SessionUpdate[] => {
      const [, mimeType, data] = /^data:(image\/[\w.+-]+);base64,(.*)$/s.exec(url) ?? [];
      if (mimeType === undefined || data === undefined)
        return chunk('user_message_chunk', `\n${url}`, messageId);
      return [{ sessionUpdate: 'user_message_chunk', content: { type: 'image', mimeType, data }, messageId }];
    });
    return [...chunk('user_message_chunk', event.args.content || event.message, messageId), ...images];
  }

  function unknown(event: Extract<ParleyEvent, { type: 'unknown' }>): SessionUpdate[] {
    const kind = event.source === 'user' ? 'user_message_chunk' : 'agent_message_chunk';
    return chunk(kind, event.message || event.content, `event-${event.id}`);
  }

  return {
    event: (event: ParleyEvent): SessionUpdate[] => {
      if (isToolAction(event)) return calls.begin(event);
      if (isToolObservation(event)) return calls.end(event);
      switch (event.type) {
        case 'action.message':
          return event.source === 'user'
            ? userMessage(event)
            : textOf(event, event.args.content || event.message, 'agent_message_chunk');
        case 'action.think':
          return textOf(event, event.args.thought, 'agent_thought_chunk');
        case 'action.task_tracking': {
          const entries = event.args.task_list.map(({ title, status }) => ({
            content: title,
            priority: 'medium' as const,
            status: planStatuses[status] ?? 'pending',
          }));
          return [{ sessionUpdate: 'plan', entries }];
        }
        case 'observation.usage': {
          const { used, size, cost } = event.extras;
          return used === null || size === null
            ? []
            : [{ sessionUpdate: 'usage_update', used, size, ...(cost === undefined ? {} : { cost }) }];
        }
        case 'observation.agent_update':
          return commandUpdates(event);
        case 'observation.notice':
          return notice(`event-${event.id}`, event.content || event.message, 'info');
        case 'observation.error':
          return notice(`event-${event.id}`, event.content || event.message, 'error');
        case 'unknown':
          return unknown(event);
        default:
          return [];
      }
    },

    /** A sentence that is not in the log. Without notices it is a thought, so that it is no part of an answer. */
    note: (title: string): SessionUpdate =>
      hasNotices
        ? { sessionUpdate: 'notice', severity: 'info', title }
        : { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: `${title}\n` } },

    partial: (partial: PartialEvent): SessionUpdate[] => {
      const { of, kind, from, text } = partial;
      if (kind === 'output') return calls.output(partial);
      const sent = sentTo.get(of) ?? 0;
      const end = from + text.length;
      if (end <= sent) return [];
      sentTo.set(of, end);
      const name = kind === 'message' ? 'agent_message_chunk' : 'agent_thought_chunk';
      return chunk(name, text.slice(Math.max(0, sent - from)), of);
    },
  };
}
