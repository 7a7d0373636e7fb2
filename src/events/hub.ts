// Streams logs to subscribers. All subscribers of a log share one read: new entries are read once, serialized once, and
// written to each. A subscriber that is behind reads by itself until it has caught up, and never more than its
// connection takes, so that a slow one holds at most the entries of one read.
import { setImmediate } from 'node:timers/promises';

export interface Entry {
  /** The position of the entry in its log, as subscribers send it back. */
  readonly cursor: string;
  readonly data: string;
}

export interface LogPage {
  readonly entries: readonly Entry[];
  /** The page was cut, so there may be more. */
  readonly more: boolean;
}

export interface Log {
  /** Identifies the log. */
  readonly topic: string;
  /** Returns the entries after the cursor, in order and bounded; undefined if the log is gone. */
  read(cursor: string): Promise<LogPage | undefined>;
  /** Negative if the first cursor is earlier. */
  compare(a: string, b: string): number;
  isGone(): Promise<boolean>;
}

export interface Subscription {
  /** Closes the connection. The client may connect again. */
  end(): void;
}

const heartbeatMs = 15_000;
/** After writing to this many subscribers, the event loop gets a turn. */
const fanOutMax = 500;

/** Entries on their way to the subscribers of a log. What they share is computed once for all of them. */
export class Batch {
  readonly entries: readonly Entry[];
  readonly #shared = new Map<Serialize<unknown>, unknown>();

  constructor(entries: readonly Entry[]) {
    this.entries = entries;
  }

  /** Calls the function once, however many subscribers ask. */
  as<Form>(serialize: Serialize<Form>): Form {
    if (!this.#shared.has(serialize)) this.#shared.set(serialize, serialize(this.entries));
    return this.#shared.get(serialize) as Form;
  }
}

type Serialize<Form> = (entries: readonly Entry[]) => Form;

/** A connection to a client. */
export interface Receiver {
  /** Returns false if the connection is full. It then gets nothing until it drains. */
  receive(batch: Batch): boolean;
  /** Keeps the connection alive while nothing happens. */
  beat(): void;
  /** Closes the connection after everything was sent. */
  end(): void;
  /** Closes the connection at once. */
  destroy(): void;
  onDrain(listener: () => void): void;
  onClose(listener: () => void): void;
}

interface Subscriber {
  readonly receiver: Receiver;
  cursor: string;
  /** Receives new entries from the shared read. Otherwise it reads by itself. */
  live: boolean;
  reading: boolean;
  /** The connection accepts no more data for now. */
  blocked: boolean;
}

interface Channel {
  readonly log: Log;
  readonly subscribers: Set<Subscriber>;
  /** The position of the shared read; undefined until a subscriber was live. */
  cursor: string | undefined;
  pumping: boolean;
  again: boolean;
}

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
    // A client that does not read would not notice the end either.
    if (subscriber.blocked) subscriber.receiver.destroy();
    else subscriber.receiver.end();
  }

  function endAll(channel: Channel): void {
    for (const subscriber of channel.subscribers) end(channel, subscriber);
  }

  /** Writes to the subscriber, and takes it off the shared read if its connection is full. */
  function send(subscriber: Subscriber, batch: Batch, cursor: string): void {
    subscriber.cursor = cursor;
    if (subscriber.receiver.receive(batch)) return;
    subscriber.live = false;
    subscriber.blocked = true;
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
        if (shared !== undefined) return;
        channel.cursor = subscriber.cursor;
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
      channel.cursor = last.cursor;
      await deliver(channel, before, page.entries, last.cursor);
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
      channel = { log, subscribers: new Set(), cursor: undefined, pumping: false, again: false };
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
