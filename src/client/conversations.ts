// Calls about conversations: made once however often they are sent, steered, read and followed.
import { isPassing, ParleyError } from './errors.ts';
import { type FollowTimes, follow, type StreamState } from './follow.ts';
import { backOffMs, pause } from './pause.ts';
import { type Connection, open, request, requestJson } from './request.ts';
import type {
  Change,
  Confirmation,
  ConversationInfo,
  ConversationList,
  ConversationResponse,
  CreateConversation,
  EventsFilter,
  EventsPage,
  ListFilter,
  NewMessage,
  ParleyEvent,
  Trajectory,
  Usage,
} from './types.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface CreateOptions extends CallOptions {
  /** Of your own, so that a repeat of yours finds the same conversation. Absent: a new one for each call. */
  readonly idempotencyKey?: string;
}

export interface FollowOptions extends CallOptions {
  /** Told when the stream is there, and when it is lost and tried again. */
  readonly onState?: (state: StreamState) => void;
}

export interface EventsOptions extends FollowOptions {
  /** The id of the first event that is wanted. Absent: 0, the start of the log. */
  readonly from?: number;
}

export interface ChangesOptions extends FollowOptions {
  /** Told when we were away for so long that changes were forgotten: read the list again. */
  readonly onReset?: () => void;
}

export interface Times extends FollowTimes {
  /** How long a creation is tried again, before the last fault is thrown. */
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
  return `/api/conversations/${encodeURIComponent(id)}${rest}`;
}

/** Tries until it is done, cannot be done, or has taken `forMs`. */
async function persist<Out>(forMs: number, signal: AbortSignal | undefined, attempt: () => Promise<Out>) {
  const end = performance.now() + forMs;
  for (let failures = 0; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ParleyError && isPassing(error))) throw error;
      const waitMs = Math.max(
        error.retryAfterMs ?? 0,
        backOffMs(failures, createRetryFirstMs, createRetryMaxMs),
      );
      if (performance.now() + waitMs > end) throw error;
      await pause(waitMs, signal);
    }
  }
}

export function conversationCalls(connection: Connection, times: Times) {
  const ask = <Out>(path: string, options: Parameters<typeof requestJson>[2]) =>
    requestJson<Out>(connection, path, options);

  return {
    /**
     * Makes one conversation, however often it has to be sent: it comes with a `conversation_id` of yours or an
     * Idempotency-Key of its own, and is sent again after network faults, 429 and 503, for a bounded time.
     */
    create: (
      asked: CreateConversation,
      { idempotencyKey, signal }: CreateOptions = {},
    ): Promise<ConversationResponse> => {
      const headers = { 'idempotency-key': idempotencyKey ?? randomText() };
      return persist(times.createForMs, signal, () =>
        ask<ConversationResponse>('/api/conversations', { method: 'POST', body: asked, headers, signal }),
      );
    },

    /** A page, newest first. Send its `next_page_id` as `page_id` for the next one, until it is null. */
    list: (filter: ListFilter = {}, { signal }: CallOptions = {}): Promise<ConversationList> =>
      ask<ConversationList>('/api/conversations', { query: filter, signal }),

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
      ask<EventsPage>(pathOf(id, '/events'), { query: filter, signal }),

    /** The whole log. */
    trajectory: (id: string, { signal }: CallOptions = {}): Promise<Trajectory> =>
      ask<Trajectory>(pathOf(id, '/trajectory'), { signal, timeoutMs: Number.POSITIVE_INFINITY }),

    /** The whole log, as a file that can be kept and sent as `replay_json`. */
    trajectoryFile: (id: string, { signal }: CallOptions = {}): Promise<Blob> =>
      request(
        connection,
        pathOf(id, '/trajectory'),
        { signal, timeoutMs: Number.POSITIVE_INFINITY },
        (answer) => answer.blob(),
      ),
  };
}

export function streamCalls(connection: Connection, times: FollowTimes) {
  function frames(path: string, cursor: string | undefined, { signal, onState }: FollowOptions) {
    return follow({
      open: (after, ending) => open(connection, path, { query: { after }, signal: ending }),
      cursor,
      signal,
      onState,
      times,
    });
  }

  /**
   * The events of a log, each once and in order: what is there, then what comes. Lost connections are made again, and
   * it goes on where it was. Ends when the signal does. Throws where the conversation is not there or no longer.
   */
  async function* events(
    id: string,
    { from = 0, ...options }: EventsOptions = {},
  ): AsyncGenerator<ParleyEvent, void, undefined> {
    let next = from;
    for await (const { data } of frames(pathOf(id, '/events/stream'), String(from - 1), options)) {
      const event = JSON.parse(data) as ParleyEvent;
      // Who asks for what is not there yet is given what comes next, whatever its number.
      if (event.id < next) continue;
      next = event.id + 1;
      yield event;
    }
  }

  /** Each change of status or title of your conversations from now on, and deletions. Resumes like `events`. */
  async function* changes(options: ChangesOptions = {}): AsyncGenerator<Change, void, undefined> {
    for await (const { event, data } of frames('/api/events/stream', undefined, options))
      if (event === 'reset') options.onReset?.();
      else yield JSON.parse(data) as Change;
  }

  return { events, changes };
}
