// Calls about conversations: made once however often they are sent, steered and read.
import { readBlob, trajectoryBytesMax } from './answers.ts';
import { isPassing, ParleyError } from './errors.ts';
import { decodeEvents } from './events.ts';
import { backOffMs, pause } from './pause.ts';
import { type Connection, request, requestJson } from './request.ts';
import type {
  Confirmation,
  ConversationInfo,
  ConversationList,
  ConversationResponse,
  CreateConversation,
  EventsFilter,
  EventsPage,
  ListFilter,
  NewMessage,
  Trajectory,
  Usage,
} from './types.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface CreateOptions extends CallOptions {
  /** Of your own, so that a repeat of yours finds the same conversation. Absent: a new one for each call. */
  readonly idempotencyKey?: string;
  /** Told of each fault after which it is sent again. */
  readonly onRetry?: ((fault: ParleyError) => void) | undefined;
}

export interface CreateTimes {
  /** How long a creation is tried again, all in all, before the last fault is thrown. The first try may take longer. */
  readonly createForMs: number;
}

const createRetryFirstMs = 250;
const createRetryMaxMs = 5_000;

/** Also where `crypto.randomUUID` is not there: pages that did not come over https. */
export function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function pathOf(id: string, rest = ''): string {
  // These ids would change the path of the URL. No conversation has the id "%", so the service returns 404.
  const named = id === '' || id === '.' || id === '..' ? '%' : id;
  return `/api/conversations/${encodeURIComponent(named)}${rest}`;
}

interface Persistence extends Pick<CreateOptions, 'signal' | 'onRetry'> {
  readonly forMs: number;
  /** Of one try, where more than that is left. */
  readonly timeoutMs: number;
}

/** Tries until it is done, cannot be done, or has taken `forMs`. */
async function persist<Out>(
  { forMs, timeoutMs, signal, onRetry }: Persistence,
  attempt: (timeoutMs: number) => Promise<Out>,
): Promise<Out> {
  const end = performance.now() + forMs;
  for (let failures = 0; ; failures++) {
    try {
      // The first is a call like any other.
      return await attempt(failures === 0 ? timeoutMs : Math.min(timeoutMs, end - performance.now()));
    } catch (error) {
      if (!(error instanceof ParleyError && isPassing(error))) throw error;
      const waitMs = Math.max(
        error.retryAfterMs ?? 0,
        backOffMs(failures, createRetryFirstMs, createRetryMaxMs),
      );
      if (performance.now() + waitMs > end) throw error;
      onRetry?.(error);
      await pause(waitMs, signal);
    }
  }
}

/** A page of the log, with its events decoded. */
export async function readEventsPage(
  connection: Connection,
  id: string,
  asked: Parameters<typeof requestJson>[2],
): Promise<EventsPage> {
  const page = await requestJson<EventsPage>(connection, pathOf(id, '/events'), asked);
  return { ...page, events: decodeEvents(page.events) };
}

export function conversationCalls(connection: Connection, times: CreateTimes) {
  const ask = <Out>(path: string, options: Parameters<typeof requestJson>[2]) =>
    requestJson<Out>(connection, path, options);

  const list = (filter: ListFilter = {}, { signal }: CallOptions = {}): Promise<ConversationList> =>
    ask<ConversationList>('/api/conversations', { query: filter, signal });

  return {
    /**
     * Makes one conversation, however often it has to be sent: it comes with a `conversation_id` of yours or an
     * Idempotency-Key of its own, and is sent again, for a bounded time, where another try may go well.
     */
    create: (
      asked: CreateConversation,
      { idempotencyKey, signal, onRetry }: CreateOptions = {},
    ): Promise<ConversationResponse> => {
      const headers = { 'idempotency-key': idempotencyKey ?? randomText() };
      const bounds = { forMs: times.createForMs, timeoutMs: connection.timeoutMs, signal, onRetry };
      return persist(bounds, (timeoutMs) =>
        ask<ConversationResponse>('/api/conversations', {
          method: 'POST',
          body: asked,
          headers,
          signal,
          timeoutMs,
        }),
      );
    },

    /** A page, newest first. Send its `next_page_id` as `page_id` for the next one, until it is null. */
    list,

    /** All of them, newest first, page after page; `limit` says how many a page holds. */
    all: async function* (
      filter: ListFilter = {},
      options: CallOptions = {},
    ): AsyncGenerator<ConversationInfo, void, undefined> {
      let page: ConversationList | undefined;
      do {
        const place = page === undefined ? {} : { page_id: String(page.next_page_id) };
        page = await list({ ...filter, ...place }, options);
        yield* page.results;
        if (page.next_page_id != null && page.next_page_id === place.page_id)
          throw new ParleyError('unexpected', 'The list goes round in a circle.');
      } while (page.next_page_id != null);
    },

    /** Throws `not_found` where you have none of that id. */
    get: async (id: string, { signal }: CallOptions = {}): Promise<ConversationInfo> => {
      const info = await ask<ConversationInfo | null>(pathOf(id), { signal });
      if (info !== null) return info;
      throw new ParleyError('not_found', 'There is no conversation with this id.', { status: 404 });
    },

    rename: async (id: string, title: string, { signal }: CallOptions = {}): Promise<void> => {
      await ask(pathOf(id), { method: 'PATCH', body: { title }, signal });
    },

    /** One that lives is left as it is. */
    start: (id: string, { signal }: CallOptions = {}): Promise<ConversationResponse> =>
      ask<ConversationResponse>(pathOf(id, '/start'), { method: 'POST', signal }),

    /** One that has stopped is left as it is. */
    stop: (id: string, { signal }: CallOptions = {}): Promise<ConversationResponse> =>
      ask<ConversationResponse>(pathOf(id, '/stop'), { method: 'POST', signal }),

    /** With all its events, for good. False where there was none. */
    delete: (id: string, { signal }: CallOptions = {}): Promise<boolean> =>
      ask<boolean>(pathOf(id), { method: 'DELETE', signal }),

    /** Says something to the agent. One that has stopped starts again. */
    message: async (
      id: string,
      message: string | NewMessage,
      { signal }: CallOptions = {},
    ): Promise<void> => {
      const body = typeof message === 'string' ? { message } : message;
      await ask(pathOf(id, '/message'), { method: 'POST', body, signal });
    },

    /** Answers the question of the agent. Throws `nothing_to_confirm` where none waits for it. */
    confirm: async (id: string, answer: Confirmation, { signal }: CallOptions = {}): Promise<void> => {
      await ask(pathOf(id, '/confirm'), { method: 'POST', body: answer, signal });
    },

    usage: (id: string, { signal }: CallOptions = {}): Promise<Usage> =>
      ask<Usage>(pathOf(id, '/usage'), { signal }),

    /** A page of the log. */
    events: (id: string, filter: EventsFilter = {}, { signal }: CallOptions = {}): Promise<EventsPage> =>
      readEventsPage(connection, id, { query: filter, signal }),

    /** The whole log. */
    trajectory: async (id: string, { signal }: CallOptions = {}): Promise<Trajectory> => {
      const asked = { signal, isLong: true };
      const path = pathOf(id, '/trajectory');
      const log = await requestJson<Trajectory>(connection, path, asked, trajectoryBytesMax);
      return { trajectory: decodeEvents(log.trajectory) };
    },

    /** The whole log, as a file that can be kept and sent as `replay_json`. */
    trajectoryFile: (id: string, { signal }: CallOptions = {}): Promise<Blob> =>
      request(connection, pathOf(id, '/trajectory'), { signal, isLong: true }, readBlob),
  };
}
