// Streams logs to subscribers. All subscribers of a log share one read: new entries are read once, serialized once, and
// written to each. A subscriber that is behind reads by itself until it has caught up, and never more than its
// connection takes, so that a slow one holds at most the entries of one read. However many there are, other requests
// get their turn in between.
import type { Metrics } from '../metrics/metrics.ts';
import { kib } from '../validation/schema.ts';
import { block, type Channel, inOrder, type Subscriber, sendToEach } from './channel.ts';
import { createPace } from './pace.ts';
import { createPartialsFanOut, wantsPartials } from './partials/partialsFanOut.ts';
import { Batch, type Entry, type Log, type Receiver } from './receiver.ts';
import { createSharedPages } from './sharedPages.ts';

export interface Subscription {
  /** Closes the connection. The client may connect again. */
  end(): void;
}

const heartbeatMs = 15_000;
/** What a read for one subscriber is expected to return. */
const pageBytes = 64 * kib;

export type Hub = ReturnType<typeof createHub>;

interface HubOptions {
  readonly onBackgroundError: (error: Error) => void;
  readonly metrics?: Metrics;
}

export function createHub({ onBackgroundError, metrics }: HubOptions) {
  const channels = new Map<string, Channel>();
  const all = new Set<Subscriber>();
  // New entries are not delayed by subscribers that are behind.
  const [fanOut, catchUps] = [createPace(), createPace()];
  const partials = createPartialsFanOut({
    pace: fanOut,
    isSubscribed: (subscriber) => all.has(subscriber),
    pump,
    onBackgroundError,
    count: (outcome, partials) => metrics?.partials.add([outcome], partials),
  });
  let closed = false;

  function end(channel: Channel, subscriber: Subscriber): void {
    all.delete(subscriber);
    channel.subscribers.delete(subscriber);
    if (channel.subscribers.size === 0 && channels.get(channel.log.topic) === channel)
      channels.delete(channel.log.topic);
    partials.closeUnused(channel);
    // A client that does not read would not notice the end either.
    if (subscriber.blocked) subscriber.receiver.destroy();
    else subscriber.receiver.end();
  }

  function endAll(channel: Channel): void {
    for (const subscriber of channel.subscribers) end(channel, subscriber);
  }

  function send(subscriber: Subscriber, batch: Batch, cursor: string): void {
    subscriber.cursor = cursor;
    if (!subscriber.receiver.receive(batch)) block(subscriber);
  }

  /** Reads for one subscriber until it has everything, then makes it live. */
  async function catchUp(channel: Channel, subscriber: Subscriber): Promise<void> {
    if (subscriber.reading || subscriber.live) return;
    subscriber.reading = true;
    channel.pages.begin();
    try {
      while (!subscriber.blocked) {
        await catchUps.take(pageBytes);
        if (!all.has(subscriber)) return;
        const page = await channel.pages.read(subscriber.cursor, channel.cursor);
        if (!all.has(subscriber)) return;
        if (page === undefined) return end(channel, subscriber);
        catchUps.spend(Math.max(0, page.chars - pageBytes));
        if (page.last !== undefined) send(subscriber, page.batch, page.last);
        // The shared read may have moved past what this subscriber has seen.
        if (page.more || subscriber.blocked || channel.cursor !== page.shared) continue;
        subscriber.live = true;
        channel.cursor ??= subscriber.cursor;
        if (wantsPartials(subscriber)) partials.join(channel);
        if (page.shared !== undefined) return;
        // A notification that arrived before there was a shared read had no effect.
        return void pump(channel).catch(onBackgroundError);
      }
    } finally {
      subscriber.reading = false;
      channel.pages.end();
    }
  }

  function deliver(channel: Channel, before: string, entries: readonly Entry[], after: string) {
    const shared = new Batch(entries);
    const chars = entries.reduce((sum, { data }) => sum + data.length, 0);
    const live = [...channel.subscribers].filter((one) => one.live);
    return sendToEach(fanOut, live, chars, (subscriber) => {
      if (!subscriber.live || !all.has(subscriber)) return;
      if (subscriber.cursor === before) return send(subscriber, shared, after);
      // This subscriber had caught up to a position that the shared read reaches only now.
      const fresh = entries.filter(({ cursor }) => channel.log.compare(cursor, subscriber.cursor) > 0);
      if (fresh.length > 0) send(subscriber, new Batch(fresh), after);
    });
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
        partials.joinLacking(channel);
      });
      if (!page.more) return;
    }
  }

  async function pumpAll(channel: Channel): Promise<void> {
    try {
      while (channel.again) {
        channel.again = false;
        await pumpOnce(channel);
      }
    } finally {
      channel.pumping = undefined;
    }
  }

  /** Sends what is in the log now. */
  function pump(channel: Channel): Promise<void> {
    channel.again = true;
    channel.pumping ??= pumpAll(channel);
    return channel.pumping;
  }

  function channelOf(log: Log): Channel {
    let channel = channels.get(log.topic);
    if (channel === undefined) {
      channel = {
        log,
        subscribers: new Set(),
        pages: createSharedPages(log),
        cursor: undefined,
        pumping: undefined,
        again: false,
        texts: undefined,
        joining: false,
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

  function sendHeartbeats(): Promise<void> {
    const waiting = [...all].filter((one) => !one.blocked);
    return sendToEach(fanOut, waiting, 0, (subscriber) => {
      if (all.has(subscriber) && !subscriber.blocked) subscriber.receiver.beat();
    });
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
