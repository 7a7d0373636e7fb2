// Streams logs to subscribers. All subscribers of a log share one read: new entries are read once, serialized once, and
// written to each. A subscriber that is behind reads by itself until it has caught up, and never more than its
// connection takes, so that a slow one holds at most the entries of one read. However many there are, other requests
// get their turn in between.
import { kib } from '../validation/schema.ts';
import type { PartialText } from './decoder/openTexts.ts';
import { createPace, type Pace } from './pace.ts';
import { type ChannelPartials, openChannelPartials } from './partials/channelPartials.ts';
import { Batch, type Entry, type Log, type Receiver } from './receiver.ts';
import { createSharedPages } from './sharedPages.ts';

export interface Subscription {
  /** Closes the connection. The client may connect again. */
  end(): void;
}

const heartbeatMs = 15_000;
/** What a read for one subscriber is expected to return. */
const pageBytes = 64 * kib;

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
  /** For subscribers that are behind. */
  readonly pages: ReturnType<typeof createSharedPages>;
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

const wantsPartials = ({ receiver }: Subscriber) => receiver.receivePartials !== undefined;

/** Sends so many bytes to each. */
async function sendToEach(
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

export type Hub = ReturnType<typeof createHub>;

export function createHub({ onBackgroundError }: { onBackgroundError: (error: Error) => void }) {
  const channels = new Map<string, Channel>();
  const all = new Set<Subscriber>();
  // New entries are not delayed by subscribers that are behind.
  const [fanOut, catchUps] = [createPace(), createPace()];
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
  function inOrder(channel: Channel, work: () => Promise<void> | undefined): Promise<void> {
    const done = channel.writing.then(work);
    channel.writing = done.catch(() => {});
    return done;
  }

  function closePartials(channel: Channel): void {
    channel.texts?.close();
    channel.texts = undefined;
  }

  function sendPartialsTo(
    channel: Channel,
    partials: readonly PartialText[],
    isMeant: (subscriber: Subscriber) => boolean,
  ): Promise<void> | undefined {
    const meant = [...channel.subscribers].filter(isMeant);
    if (meant.length === 0) return;
    const shared = new Batch(partials);
    const chars = partials.reduce((sum, { text }) => sum + text.length, 0);
    return sendToEach(fanOut, meant, chars, (subscriber) => {
      if (!isMeant(subscriber)) return;
      subscriber.hasPartials = true;
      sendPartials(subscriber, shared);
    });
  }

  /** Only at the position of the shared read it is known which texts are in the log. */
  function lacksPartials(channel: Channel, one: Subscriber): boolean {
    return (
      wantsPartials(one) && one.live && !one.hasPartials && one.cursor === channel.cursor && all.has(one)
    );
  }

  async function deliverPartials(channel: Channel, partials: readonly PartialText[]): Promise<void> {
    if (partials.length > 0)
      await sendPartialsTo(channel, partials, (one) => one.hasPartials && all.has(one));
    await sendPartialsTo(channel, channel.texts?.list() ?? [], (one) => lacksPartials(channel, one));
  }

  /** Subscribes to the texts at the position of the shared read: every event that ends one of them is still to come. */
  function openPartials(channel: Channel): Promise<void> | undefined {
    channel.joining = false;
    if (!channel.subscribers.values().some((one) => lacksPartials(channel, one))) return;
    channel.texts ??= openChannelPartials(channel.log, async (take, isNew) => {
      // What was recorded before a text is sent before it.
      if (isNew) await pump(channel).catch(onBackgroundError);
      await inOrder(channel, () => deliverPartials(channel, take())).catch(onBackgroundError);
    });
    return deliverPartials(channel, []);
  }

  /** Sends all unfinished texts to live subscribers that lack them: once for all that join at about the same time. */
  function joinPartials(channel: Channel): void {
    channel.texts?.sendSoon();
    if (channel.texts !== undefined || channel.joining) return;
    channel.joining = true;
    inOrder(channel, () => openPartials(channel)).catch(onBackgroundError);
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
        if (wantsPartials(subscriber)) joinPartials(channel);
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
        if (channel.subscribers.values().some((one) => lacksPartials(channel, one))) joinPartials(channel);
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
