// A log with subscribers, and how something is sent to many of them.
import type { Pace } from './pace.ts';
import type { ChannelPartials } from './partials/channelPartials.ts';
import type { Log, Receiver } from './receiver.ts';
import type { SharedPages } from './sharedPages.ts';

export interface Subscriber {
  readonly receiver: Receiver;
  cursor: string;
  /** Receives new entries from the shared read. Otherwise it reads by itself. */
  live: boolean;
  reading: boolean;
  /** The connection accepts no more data for now. */
  blocked: boolean;
  /** Has all unfinished texts, and receives what is added to them. */
  hasPartials: boolean;
}

export interface Channel {
  readonly log: Log;
  readonly subscribers: Set<Subscriber>;
  /** For subscribers that are behind. */
  readonly pages: SharedPages;
  /** The position of the shared read; undefined until a subscriber was live. */
  cursor: string | undefined;
  /** Settles when the shared read has reached the end of the log. */
  pumping: Promise<void> | undefined;
  again: boolean;
  /** Undefined while no subscriber wants unfinished texts. */
  texts: ChannelPartials | undefined;
  /** The first subscribers who want unfinished texts are about to get them. */
  joining: boolean;
  /** Entries and partials are written to subscribers one batch after the other, so that their order is the same for all. */
  writing: Promise<void>;
}

/** The connection is full. The subscriber reads by itself when it has room again. */
export function block(subscriber: Subscriber): void {
  subscriber.live = false;
  subscriber.hasPartials = false;
  subscriber.blocked = true;
}

/** Does the work after all that was begun before it for this channel. */
export function inOrder(channel: Channel, work: () => Promise<void> | undefined): Promise<void> {
  const done = channel.writing.then(work);
  channel.writing = done.catch(() => {});
  return done;
}

/** Sends so many bytes to each. */
export async function sendToEach(
  pace: Pace,
  subscribers: readonly Subscriber[],
  bytes: number,
  send: (subscriber: Subscriber) => void,
): Promise<void> {
  for (const subscriber of subscribers) {
    const turn = pace.take(bytes);
    if (turn !== undefined) await turn;
    send(subscriber);
  }
}
