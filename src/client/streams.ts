// The streams of the service: the events of a conversation, and the changes of all conversations.

import { createOpenTexts } from '../events/decoder/openTexts.ts';
import { type AgentState, isUnclear, nextState, unknownState, waitsForUser } from './agentState.ts';
import { type CallOptions, pathOf, readEventsPage } from './conversations.ts';
import { ParleyError } from './errors.ts';
import { decodeEvent } from './events.ts';
import { type FollowTimes, follow, type StreamState } from './follow.ts';
import { type Connection, open } from './request.ts';
import type { Change, ParleyEvent, PartialEvent } from './types.ts';

export interface FollowOptions extends CallOptions {
  /** Called when the stream is connected, and when it was lost and reconnects. */
  readonly onState?: (state: StreamState) => void;
}

export interface EventsOptions extends FollowOptions {
  /** The id of the first event. Default: 0, the start of the log. */
  readonly from?: number;
}

export interface LiveEventsOptions extends EventsOptions {
  /** Also yields text that is still being written. */
  readonly partials: true;
}

export interface WaitOptions extends EventsOptions {
  /** Called for each event. */
  readonly onEvent?: (event: ParleyEvent) => void;
  /** Called for text that is still being written. */
  readonly onPartial?: ((partial: PartialEvent) => void) | undefined;
}

export interface ChangesOptions extends FollowOptions {
  /** Called when the client was disconnected for so long that changes were lost. Read the list again. */
  readonly onReset?: () => void;
}

/** The largest page of events. */
const tailEventsMax = 100;

const foreignData = () =>
  new ParleyError('unexpected', 'The stream contains data that does not come from Parley.');

function parse<Out extends object>(data: string): Out {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value === 'object' && value !== null) return value as Out;
  } catch {
    // The error is thrown below.
  }
  throw foreignData();
}

function isPartial(value: object): value is Omit<PartialEvent, 'type'> {
  const { of, kind, from, text } = value as Record<string, unknown>;
  const isKnown = kind === 'message' || kind === 'thought' || kind === 'output';
  return typeof of === 'string' && isKnown && Number.isSafeInteger(from) && typeof text === 'string';
}

/** The unfinished texts of the current connection. After a lost one, they are taken back and sent again. */
function createConnectionPartials() {
  const open = createOpenTexts();
  let isLost = false;

  function* takeLost(): Generator<PartialEvent> {
    if (!isLost) return;
    isLost = false;
    const lost = open.list();
    open.clear();
    for (const { of, kind } of lost) yield { type: 'partial', of, kind, from: 0, text: '' };
  }

  return {
    takeLost,
    onState: (state: StreamState) => {
      if (state === 'reconnecting') isLost = true;
    },
    add: (value: object): PartialEvent => {
      if (!isPartial(value)) throw foreignData();
      open.add(value);
      return { ...value, type: 'partial' };
    },
    cover: (event: ParleyEvent) => void open.cover(event),
  };
}

/** Events are never deleted alone, so a shorter log is another one, such as from an older copy of the database. */
const shorterLog = () =>
  new ParleyError('unexpected', 'The log is shorter than before. Read it again from its start.');

export function streamCalls(connection: Connection, times: FollowTimes) {
  function frames(
    path: string,
    cursor: string | undefined,
    { signal, onState, query = {} }: FollowOptions & { readonly query?: object },
  ) {
    return follow({
      open: (after, ending) => open(connection, path, { query: { ...query, after }, signal: ending }),
      cursor,
      signal,
      onState,
      times,
    });
  }

  /** Yields events, and partials if they were requested. */
  async function* eventsAndPartials(
    id: string,
    { from = 0, partials, ...options }: EventsOptions & { readonly partials: boolean },
  ): AsyncGenerator<ParleyEvent | PartialEvent, void, undefined> {
    let [next, seen] = [from, -1];
    const texts = createConnectionPartials();
    const onState = (state: StreamState) => {
      texts.onState(state);
      options.onState?.(state);
    };
    const query = partials ? { partials } : {};
    const path = pathOf(id, '/events/stream');
    for await (const frame of frames(path, String(from - 1), { ...options, onState, query })) {
      yield* texts.takeLost();
      if (frame.id !== undefined && Number(frame.id) < seen) throw shorterLog();
      if (frame.data === '') continue;
      if (frame.event === 'partial') {
        yield texts.add(parse(frame.data));
        continue;
      }
      const event = decodeEvent(parse(frame.data));
      // If `from` is beyond the end of the log, the service sends the next event, whatever its id.
      if (event.id < next) continue;
      [next, seen] = [event.id + 1, event.id];
      texts.cover(event);
      yield event;
    }
  }

  function events(
    id: string,
    options: LiveEventsOptions,
  ): AsyncGenerator<ParleyEvent | PartialEvent, void, undefined>;
  function events(id: string, options?: EventsOptions): AsyncGenerator<ParleyEvent, void, undefined>;
  /**
   * Yields the events of a log, each once and in order: the stored ones, then new ones. It reconnects by itself and
   * resumes where it was. Ends when the signal is aborted. Throws if the conversation does not exist or is deleted.
   */
  function events(
    id: string,
    options: EventsOptions & { readonly partials?: true } = {},
  ): AsyncGenerator<ParleyEvent | PartialEvent, void, undefined> {
    return eventsAndPartials(id, { ...options, partials: options.partials === true });
  }

  /**
   * Yields each change of status, title or agent state of your conversations from now on, and deletions. It reconnects
   * like `events`.
   */
  async function* changes(options: ChangesOptions = {}): AsyncGenerator<Change, void, undefined> {
    for await (const { event, data } of frames('/api/events/stream', undefined, options))
      if (event === 'reset') options.onReset?.();
      else if (data !== '') yield parse<Change>(data);
  }

  /** Returns the id of the newest event, and the state of the agent according to the last events. */
  async function readTail(id: string, signal: AbortSignal | undefined) {
    const query = { reverse: true, limit: tailEventsMax };
    const page = await readEventsPage(connection, id, { query, signal });
    return { newest: page.events[0]?.id ?? -1, state: page.events.reverse().reduce(nextState, unknownState) };
  }

  /**
   * Waits until the agent waits for its user: it has ended its turn, needs approval, or has stopped. Throws like
   * `events`, or the reason of the signal.
   */
  async function untilWaiting(
    id: string,
    { onEvent, onPartial, ...options }: WaitOptions = {},
  ): Promise<AgentState> {
    const { from = 0, signal } = options;
    const tail = await readTail(id, signal);
    let state = tail.newest < from ? tail.state : unknownState;
    if (tail.newest < from && waitsForUser(state)) return state;
    const partials = onPartial !== undefined;
    for await (const event of eventsAndPartials(id, { ...options, partials })) {
      if (event.type === 'partial') {
        onPartial?.(event);
        continue;
      }
      onEvent?.(event);
      state = nextState(state, event);
      // From the middle of a log, there may have been no event that shows the state.
      if (event.id === tail.newest && isUnclear(state)) state = tail.state;
      if (event.id >= tail.newest && waitsForUser(state)) return state;
    }
    throw signal?.reason;
  }

  return { events, changes, untilWaiting };
}
