// Calls about conversations. Creations and messages are retried, but take effect only once.

import { isTemporary, ParleyError } from './errors.ts';
import { decodeEvents } from './events.ts';
import { backOffMs, pause } from './pause.ts';
import { type Connection, request, requestJson } from './request.ts';
import { readBlob, trajectoryBytesMax } from './responses.ts';
import type {
  ChangeConversation,
  Confirmation,
  ConversationInfo,
  ConversationList,
  ConversationMatches,
  ConversationResponse,
  ConversationSearch,
  CreateConversation,
  EventsFilter,
  EventsPage,
  FeedbackList,
  ForkConversation,
  ListFilter,
  NewFeedback,
  NewMessage,
  SearchResults,
  SentMessage,
  Trajectory,
  Upload,
  Usage,
} from './types.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Options of a creation or a message. */
export interface CreateOptions extends CallOptions {
  /** Set it if you may repeat the call, so that the repetition has no further effect. Default: a new one. */
  readonly idempotencyKey?: string;
  /** Called for each error after which the request is sent again. */
  readonly onRetry?: ((fault: ParleyError) => void) | undefined;
}

export interface CreateTimes {
  /** For how long a creation or a message is retried before the last error is thrown. The first attempt may take longer. */
  readonly createForMs: number;
}

const createRetryFirstMs = 250;
const createRetryMaxMs = 5_000;
/** The service ends longer uploads. */
const uploadTimeoutMs = 16 * 60_000;

/** `crypto.randomUUID` does not exist in pages that were loaded without https. */
export function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function pathOf(id: string, rest = ''): string {
  // These ids would change the path of the URL. No conversation has the id "%", so the service returns 404.
  const named = id === '' || id === '.' || id === '..' ? '%' : id;
  return `/api/conversations/${encodeURIComponent(named)}${rest}`;
}

interface RetryOptions extends Pick<CreateOptions, 'signal' | 'onRetry'> {
  readonly forMs: number;
  /** The timeout of one attempt, unless less time is left. */
  readonly timeoutMs: number;
}

/** Retries until the attempt succeeds, fails permanently, or `forMs` have passed. */
async function retry<Out>(
  { forMs, timeoutMs, signal, onRetry }: RetryOptions,
  attempt: (timeoutMs: number) => Promise<Out>,
): Promise<Out> {
  const end = performance.now() + forMs;
  for (let failures = 0; ; failures++) {
    try {
      // The first attempt has the full timeout, like any other call.
      return await attempt(failures === 0 ? timeoutMs : Math.min(timeoutMs, end - performance.now()));
    } catch (error) {
      if (!(error instanceof ParleyError && isTemporary(error))) throw error;
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

/** Reads a page of the log and decodes its events. */
export async function readEventsPage(
  connection: Connection,
  id: string,
  options: Parameters<typeof requestJson>[2],
): Promise<EventsPage> {
  const page = await requestJson<EventsPage>(connection, pathOf(id, '/events'), options);
  return { ...page, events: decodeEvents(page.events) };
}

export function conversationCalls(connection: Connection, times: CreateTimes) {
  const send = <Out>(path: string, options: Parameters<typeof requestJson>[2]) =>
    requestJson<Out>(connection, path, options);

  /** Sends a POST that the service executes once, and retries it after temporary errors. */
  const sendOnce = <Out>(
    path: string,
    body: object,
    { idempotencyKey, signal, onRetry }: CreateOptions,
  ): Promise<Out> => {
    const headers = { 'idempotency-key': idempotencyKey ?? randomText() };
    const bounds = { forMs: times.createForMs, timeoutMs: connection.timeoutMs, signal, onRetry };
    return retry(bounds, (timeoutMs) =>
      send<Out>(path, { method: 'POST', body, headers, signal, timeoutMs }),
    );
  };

  const list = (filter: ListFilter = {}, { signal }: CallOptions = {}): Promise<ConversationList> =>
    send<ConversationList>('/api/conversations', { query: filter, signal });

  const update = async (
    id: string,
    change: ChangeConversation,
    { signal }: CallOptions = {},
  ): Promise<void> => {
    await send(pathOf(id), { method: 'PATCH', body: change, signal });
  };

  return {
    /**
     * Creates one conversation, even if the request has to be repeated: it has your `conversation_id` or an
     * Idempotency-Key. Temporary errors are retried for a limited time.
     */
    create: (creation: CreateConversation, options: CreateOptions = {}): Promise<ConversationResponse> =>
      sendOnce<ConversationResponse>('/api/conversations', creation, options),

    /** Creates one conversation from an event of another; repeated like `create`. */
    fork: (
      id: string,
      request: ForkConversation = {},
      options: CreateOptions = {},
    ): Promise<ConversationResponse> => sendOnce<ConversationResponse>(pathOf(id, '/fork'), request, options),

    /** Returns a page, newest first. Send `next_page_id` as `page_id` for the next page, until it is null. */
    list,

    /** Yields all conversations, newest first. `limit` is the size of a page. */
    all: async function* (
      filter: ListFilter = {},
      options: CallOptions = {},
    ): AsyncGenerator<ConversationInfo, void, undefined> {
      let page: ConversationList | undefined;
      do {
        const position = page === undefined ? {} : { page_id: String(page.next_page_id) };
        page = await list({ ...filter, ...position }, options);
        yield* page.results;
        if (page.next_page_id != null && page.next_page_id === position.page_id)
          throw new ParleyError('unexpected', 'The list has a page that links to itself.');
      } while (page.next_page_id != null);
    },

    /** Searches titles and what was said. Send `next_page_id` as `page_id` for the next page, until it is null. */
    search: (
      q: string,
      filter: Omit<ConversationSearch, 'q'> = {},
      { signal }: CallOptions = {},
    ): Promise<SearchResults> => send<SearchResults>('/api/search', { query: { ...filter, q }, signal }),

    /** Finds the events of one conversation that match, newest first. */
    searchEvents: (
      id: string,
      q: string,
      filter: Omit<ConversationSearch, 'q'> = {},
      { signal }: CallOptions = {},
    ): Promise<ConversationMatches> =>
      send<ConversationMatches>(pathOf(id, '/search'), { query: { ...filter, q }, signal }),

    /** Throws `not_found` if you have no conversation with this id. */
    get: async (id: string, { signal }: CallOptions = {}): Promise<ConversationInfo> => {
      const info = await send<ConversationInfo | null>(pathOf(id), { signal });
      if (info !== null) return info;
      throw new ParleyError('not_found', 'There is no conversation with this id.', { status: 404 });
    },

    /**
     * Changes the title, marks (`pinned`, `archived`, `seen_event_id`), the agent, the model or the approval mode. The last
     * three apply from the next turn on.
     */
    update,

    rename: (id: string, title: string, options?: CallOptions): Promise<void> =>
      update(id, { title }, options),

    /** Does nothing if the conversation is already running. */
    start: (id: string, { signal }: CallOptions = {}): Promise<ConversationResponse> =>
      send<ConversationResponse>(pathOf(id, '/start'), { method: 'POST', signal }),

    /** Does nothing if the conversation has already stopped. */
    stop: (id: string, { signal }: CallOptions = {}): Promise<ConversationResponse> =>
      send<ConversationResponse>(pathOf(id, '/stop'), { method: 'POST', signal }),

    /**
     * Ends the current turn of the agent, and drops messages that it was not given yet. The conversation keeps running.
     * Does nothing if there is nothing to cancel.
     */
    cancel: (id: string, { signal }: CallOptions = {}): Promise<ConversationResponse> =>
      send<ConversationResponse>(pathOf(id, '/cancel'), { method: 'POST', signal }),

    /** Deletes the conversation with all its events. Returns false if there was none. */
    delete: (id: string, { signal }: CallOptions = {}): Promise<boolean> =>
      send<boolean>(pathOf(id), { method: 'DELETE', signal }),

    /**
     * Sends a message to the agent, and returns the id of its event. A stopped conversation is resumed. Temporary errors
     * are retried as for a creation, and the message is in the log once.
     */
    message: async (
      id: string,
      message: string | NewMessage,
      options: CreateOptions = {},
    ): Promise<Pick<SentMessage, 'event_id'>> => {
      const body = typeof message === 'string' ? { message } : message;
      const { event_id } = await sendOnce<SentMessage>(pathOf(id, '/message'), body, options);
      return { event_id };
    },

    /**
     * Puts files into the workspace: all of them, or none if it throws. Send each `path` in `file_urls` of a message. A
     * `Blob` without a name of its own needs one.
     */
    upload: (
      id: string,
      files: readonly (File | { readonly name: string; readonly content: Blob })[],
      { signal }: CallOptions = {},
    ): Promise<Upload> => {
      const body = new FormData();
      for (const file of files) body.append('files', 'content' in file ? file.content : file, file.name);
      return send<Upload>(pathOf(id, '/files'), { method: 'POST', body, signal, timeoutMs: uploadTimeoutMs });
    },

    /** Answers an approval request. Throws `nothing_to_confirm` if there is none. */
    confirm: async (id: string, answer: Confirmation, { signal }: CallOptions = {}): Promise<void> => {
      await send(pathOf(id, '/confirm'), { method: 'POST', body: answer, signal });
    },

    /** Stores what you think of a conversation. Returns the id of the record. */
    addFeedback: (id: string, feedback: NewFeedback, { signal }: CallOptions = {}): Promise<{ id: string }> =>
      send<{ id: string }>(pathOf(id, '/feedback'), { method: 'POST', body: feedback, signal }),

    /** Returns all feedback that you have stored. */
    feedback: ({ signal }: CallOptions = {}): Promise<FeedbackList> =>
      send<FeedbackList>('/api/feedback', { signal }),

    usage: (id: string, { signal }: CallOptions = {}): Promise<Usage> =>
      send<Usage>(pathOf(id, '/usage'), { signal }),

    /** Returns a page of the log. */
    events: (id: string, filter: EventsFilter = {}, { signal }: CallOptions = {}): Promise<EventsPage> =>
      readEventsPage(connection, id, { query: filter, signal }),

    /** Returns the whole log. */
    trajectory: async (id: string, { signal }: CallOptions = {}): Promise<Trajectory> => {
      const options = { signal, isLong: true };
      const path = pathOf(id, '/trajectory');
      const log = await requestJson<Trajectory>(connection, path, options, trajectoryBytesMax);
      return { trajectory: decodeEvents(log.trajectory) };
    },

    /** Returns the whole log as a file, which can be sent as `replay_json`. */
    trajectoryFile: (id: string, { signal }: CallOptions = {}): Promise<Blob> =>
      request(connection, pathOf(id, '/trajectory'), { signal, isLong: true }, readBlob),
  };
}
