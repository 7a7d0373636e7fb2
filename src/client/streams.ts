// Streams of the service, each frame as what it is: the events of a log, and changes of all conversations.
import { type AgentState, isUnclear, nextState, unknownState, waitsForUser } from './agentState.ts';
import { type CallOptions, pathOf, readEventsPage } from './conversations.ts';
import { ParleyError } from './errors.ts';
import { decodeEvent } from './events.ts';
import { type FollowTimes, follow, type StreamState } from './follow.ts';
import { type Connection, open } from './request.ts';
import type { Change, ParleyEvent } from './types.ts';

export interface FollowOptions extends CallOptions {
  /** Told when the stream is there, and when it is lost and tried again. */
  readonly onState?: (state: StreamState) => void;
}

export interface EventsOptions extends FollowOptions {
  /** The id of the first event that is wanted. Absent: 0, the start of the log. */
  readonly from?: number;
}

export interface WaitOptions extends EventsOptions {
  /** Told of each event, as `events` gives them. */
  readonly onEvent?: (event: ParleyEvent) => void;
}

export interface ChangesOptions extends FollowOptions {
  /** Told when we were away for so long that changes were forgotten: read the list again. */
  readonly onReset?: () => void;
}

/** The most that a page of events may hold. */
const tailEventsMax = 100;

function parse<Out extends object>(data: string): Out {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value === 'object' && value !== null) return value as Out;
  } catch {
    // Told below.
  }
  throw new ParleyError('unexpected', 'The stream holds what Parley does not send.');
}

/** Events cannot go away: whoever has seen more than there is reads another log than before. */
const shorterLog = () =>
  new ParleyError('unexpected', 'The log is shorter than what was read of it: read it again from its start.');

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
    let [next, seen] = [from, -1];
    for await (const frame of frames(pathOf(id, '/events/stream'), String(from - 1), options)) {
      if (frame.id !== undefined && Number(frame.id) < seen) throw shorterLog();
      if (frame.data === '') continue;
      const event = decodeEvent(parse(frame.data));
      // Who asks for what is not there yet is given what comes next, whatever its number.
      if (event.id < next) continue;
      [next, seen] = [event.id + 1, event.id];
      yield event;
    }
  }

  /**
   * Each change of status, title or agent state of your conversations from now on, and deletions. Resumes like
   * `events`.
   */
  async function* changes(options: ChangesOptions = {}): AsyncGenerator<Change, void, undefined> {
    for await (const { event, data } of frames('/api/events/stream', undefined, options))
      if (event === 'reset') options.onReset?.();
      else if (data !== '') yield parse<Change>(data);
  }

  /** The newest event, and what the last of the log tell of the agent. */
  async function readTail(id: string, signal: AbortSignal | undefined) {
    const query = { reverse: true, limit: tailEventsMax };
    const page = await readEventsPage(connection, id, { query, signal });
    return { newest: page.events[0]?.id ?? -1, state: page.events.reverse().reduce(nextState, unknownState) };
  }

  /**
   * Follows a conversation until its agent does nothing before its user does something: it has ended its turn, asks for
   * permission, or has stopped. Throws like `events`, and the reason of the signal.
   */
  async function untilWaiting(id: string, { onEvent, ...options }: WaitOptions = {}): Promise<AgentState> {
    const { from = 0, signal } = options;
    const tail = await readTail(id, signal);
    let state = tail.newest < from ? tail.state : unknownState;
    if (tail.newest < from && waitsForUser(state)) return state;
    for await (const event of events(id, options)) {
      onEvent?.(event);
      state = nextState(state, event);
      // Begun in the middle of a log, it may have met no event that tells.
      if (event.id === tail.newest && isUnclear(state)) state = tail.state;
      if (event.id >= tail.newest && waitsForUser(state)) return state;
    }
    throw signal?.reason;
  }

  return { events, changes, untilWaiting };
}
