// Streams logs to subscribers. All subscribers of a log share one read: new entries are read once, serialized once, and
// written to each. A subscriber that is behind reads by itself until it has caught up, and never more than its
// connection takes, so that a slow one holds at most the entries of one read.
import { setImmediate } from 'node:timers/promises';
import type { PartialText } from './decoder/openTexts.ts';
import { type ChannelPartials, openChannelPartials } from './partials/channelPartials.ts';
import { Batch, type Entry, type Log, type Receiver } from './receiver.ts';

export interface Subscription {
  /** Closes the connection. The client may connect again. */
  end(): void;
}

const heartbeatMs = 15_000;
/** After writing to this many subscribers, the event loop gets a turn. */
const fanOutMax = 500;

interface Subscriber {
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

interface Channel {
  readonly log: Log;
  readonly subscribers: Set<Subscriber>;
  /** The position of the shared read; undefined until a subscriber was live. */
  cursor: string | undefined;
  pumping: boolean;
  again: boolean;
  /** Undefined while no subscriber wants unfinished texts. */
  texts: ChannelPartials | undefined;
  /** Entries and partials are written to subscribers one batch after the other, so that their order is the same for all. */
  writing: Promise<void>;
}

const wantsPartials = ({ receiver }: Subscriber) => receiver.receivePartials !== undefined;

export type Hub = ReturnType<typeof createHub>;

export function createHub({ onBackgroundError }: { onBackgroundError: (error: Error) => void }) {
  const channels = new Map<string, Channel>();
  const all = new Set<Subscriber>();
  let closed = false;

  function end(channel: Channel, subscriber: Subscriber): void {
    all.delete(subscriber);
    channel.subscribers.delete(subscriber);
    if (channel.subscribers.size === 0 && channels.get(channel.log.topic) === channel)
      channels.delete(channel.log.topic);
    if (channel.texts !== undefined && !channel.subscribers.values().some(wantsPartials))
      closePartials(channel);
    // A client that does not read would not notice the end either.
    if (subscriber.blocked) subscriber.receiver.destroy();
    else subscriber.receiver.end();
  }

  function endAll(channel: Channel): void {
    for (const subscriber of channel.subscribers) end(channel, subscriber);
  }

  /** The connection is full. The subscriber reads by itself when it has room again. */
  function block(subscriber: Subscriber): void {
    subscriber.live = false;
    subscriber.hasPartials = false;
    subscriber.blocked = true;
  }

  function send(subscriber: Subscriber, batch: Batch, cursor: string): void {
    subscriber.cursor = cursor;
    if (!subscriber.receiver.receive(batch)) block(subscriber);
  }

  function sendPartials(subscriber: Subscriber, batch: Batch<PartialText>): void {
    if (batch.entries.length > 0 && subscriber.receiver.receivePartials?.(batch) === false) block(subscriber);
  }

  /** Does the work after all that was begun before it for this channel. */
  function inOrder(channel: Channel, work: () => Promise<void> | void): Promise<void> {
    const done = channel.writing.then(work);
    channel.writing = done.catch(() => {});
    return done;
  }

  function closePartials(channel: Channel): void {
    channel.texts?.close();
    channel.texts = undefined;
  }

  async function deliverPartials(channel: Channel, partials: readonly PartialText[]): Promise<void> {
    const shared = new Batch(partials);
    for (const [i, subscriber] of [...channel.subscribers].entries()) {
      if ((i + 1) % fanOutMax === 0) await setImmediate();
      if (subscriber.hasPartials && all.has(subscriber)) sendPartials(subscriber, shared);
    }
  }

  /**
   * Sends all unfinished texts to live subscribers that lack them. Only at the position of the shared read, because
   * that is where it is known which texts are in the log. For the same reason, the texts are subscribed to only then:
   * every event that ends one of them is still to come.
   */
  function sharePartials(channel: Channel, subscribers: Iterable<Subscriber>): void {
    const { cursor } = channel;
    const lacking = [...subscribers].filter(
      (one) => wantsPartials(one) && one.live && !one.hasPartials && one.cursor === cursor && all.has(one),
    );
    if (lacking.length === 0) return;
    channel.texts ??= openChannelPartials(channel.log, (take) =>
      inOrder(channel, () => deliverPartials(channel, take())).catch(onBackgroundError),
    );
    const known = new Batch(channel.texts?.list() ?? []);
    for (const subscriber of lacking) {
      subscriber.hasPartials = true;
      sendPartials(subscriber, known);
    }
  }

  /** Reads for one subscriber until it has everything, then makes it live. */
  async function catchUp(channel: Channel, subscriber: Subscriber): Promise<void> {
    if (subscriber.reading || subscriber.live) return;
    subscriber.reading = true;
    try {
      while (!subscriber.blocked) {
        const shared = channel.cursor;
        const page = await channel.log.read(subscriber.cursor);
        if (!all.has(subscriber)) return;
        if (page === undefined) return end(channel, subscriber);
        const last = page.entries.at(-1);
        if (last !== undefined) send(subscriber, new Batch(page.entries), last.cursor);
        // The shared read may have moved past what this subscriber has seen.
        if (page.more || subscriber.blocked || channel.cursor !== shared) continue;
        subscriber.live = true;
        channel.cursor ??= subscriber.cursor;
        if (wantsPartials(subscriber))
          inOrder(channel, () => sharePartials(channel, [subscriber])).catch(onBackgroundError);
        if (shared !== undefined) return;
        // A notification that arrived before there was a shared read had no effect.
        return void pump(channel).catch(onBackgroundError);
      }
    } finally {
      subscriber.reading = false;
    }
  }

  async function deliver(channel: Channel, before: string, entries: readonly Entry[], after: string) {
    const shared = new Batch(entries);
    for (const [i, subscriber] of [...channel.subscribers].entries()) {
      if ((i + 1) % fanOutMax === 0) await setImmediate();
      if (!subscriber.live || !all.has(subscriber)) continue;
      if (subscriber.cursor === before) send(subscriber, shared, after);
      else {
        // This subscriber had caught up to a position that the shared read reaches only now.
        const fresh = entries.filter(({ cursor }) => channel.log.compare(cursor, subscriber.cursor) > 0);
        if (fresh.length > 0) send(subscriber, new Batch(fresh), after);
      }
    }
  }

  async function pumpOnce(channel: Channel): Promise<void> {
    for (;;) {
      const before = channel.cursor;
      // If no subscriber is live, each reads by itself, but a blocked one would not notice that the log is gone.
      if (before === undefined) return (await channel.log.isGone()) ? endAll(channel) : undefined;
      const page = await channel.log.read(before);
      if (page === undefined) return endAll(channel);
      const last = page.entries.at(-1);
      if (last === undefined) return;
      await inOrder(channel, async () => {
        channel.cursor = last.cursor;
        channel.texts?.cover(page.entries);
        await deliver(channel, before, page.entries, last.cursor);
        sharePartials(channel, channel.subscribers);
      });
      if (!page.more) return;
    }
  }

  async function pump(channel: Channel): Promise<void> {
    channel.again = true;
    if (channel.pumping) return;
    channel.pumping = true;
    try {
      while (channel.again) {
        channel.again = false;
        await pumpOnce(channel);
      }
    } finally {
      channel.pumping = false;
    }
  }

  function channelOf(log: Log): Channel {
    let channel = channels.get(log.topic);
    if (channel === undefined) {
      channel = {
        log,
        subscribers: new Set(),
        cursor: undefined,
        pumping: false,
        again: false,
        texts: undefined,
        writing: Promise.resolve(),
      };
      channels.set(log.topic, channel);
    }
    return channel;
  }

  /** Sends what follows the cursor. */
  function subscribe(log: Log, cursor: string, receiver: Receiver): Subscription {
    const channel = channelOf(log);
    const subscriber: Subscriber = {
      receiver,
      cursor,
      live: false,
      reading: false,
      blocked: false,
      hasPartials: false,
    };
    channel.subscribers.add(subscriber);
    all.add(subscriber);
    const finish = () => end(channel, subscriber);
    const resume = () => {
      subscriber.blocked = false;
      catchUp(channel, subscriber).catch(fail);
    };
    const fail = (error: Error) => {
      onBackgroundError(error);
      finish();
    };
    receiver.onDrain(resume);
    receiver.onClose(finish);
    if (closed) finish();
    else resume();
    return { end: finish };
  }

  /** Reads the logs of these topics if they have subscribers. */
  function notify(topics: readonly string[]): void {
    // There are often no subscribers, and V8 must hash each new string before it can look it up.
    if (channels.size === 0) return;
    for (const topic of topics) {
      const channel = channels.get(topic);
      if (channel !== undefined) pump(channel).catch(onBackgroundError);
    }
  }

  async function sendHeartbeats(): Promise<void> {
    for (const [i, subscriber] of [...all].entries()) {
      if ((i + 1) % fanOutMax === 0) await setImmediate();
      if (all.has(subscriber) && !subscriber.blocked) subscriber.receiver.beat();
    }
  }
  const heartbeats = setInterval(() => void sendHeartbeats().catch(onBackgroundError), heartbeatMs);
  heartbeats.unref();

  return {
    subscribe,
    notify,
    /** Every log with subscribers, and the position of its shared read. */
    openLogs: () => [...channels.values()].map(({ log, cursor }) => ({ topic: log.topic, cursor })),
    size: () => all.size,
    subscribers: (topic: string) => channels.get(topic)?.subscribers.size ?? 0,
    close: () => {
      closed = true;
      clearInterval(heartbeats);
      for (const channel of channels.values()) endAll(channel);
    },
  };
}
