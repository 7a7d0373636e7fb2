// Followers of logs. All who follow one log share one reading of it: when it grows, the new entries are read once,
// put into bytes once, and written to each. Who is behind reads by itself until it has caught up, and never more
// than its connection takes, so that a slow follower costs the entries of one reading.
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';

export interface Entry {
  /** The place of the entry in its log, as followers send it back. */
  readonly cursor: string;
  readonly data: string;
}

export interface Reading {
  readonly entries: readonly Entry[];
  /** It was cut: there may be more. */
  readonly more: boolean;
}

export interface Log {
  /** The same for the same log. */
  readonly topic: string;
  /** What follows the cursor, in order and bounded; undefined where the log is gone. */
  read(cursor: string): Promise<Reading | undefined>;
  /** Below zero where the first is earlier. */
  compare(a: string, b: string): number;
  isGone(): Promise<boolean>;
}

export interface Follower {
  /** Ends it: the connection is closed, and the follower may come again. */
  end(): void;
}

const heartbeatMs = 15_000;
/** A connection that takes nothing for so long is closed. */
const stalledMs = 60_000;
const heartbeat = ': still here\n\n';
/** Followers that are written to in one go; then others have their turn. */
const fanOutMax = 500;

function frame({ cursor, data }: Entry): string {
  return `id: ${cursor}\ndata: ${data}\n\n`;
}

interface Reader {
  readonly response: ServerResponse;
  cursor: string;
  /** Gets new entries as they come; otherwise it reads by itself. */
  live: boolean;
  reading: boolean;
  /** When its connection last took something while it was full; undefined while it is not. */
  blockedAt: number | undefined;
  /** What its connection had not taken then. */
  waitingBytes: number;
}

interface Channel {
  readonly log: Log;
  readonly readers: Set<Reader>;
  /** Where the shared reading is; undefined while nobody is live. */
  cursor: string | undefined;
  pumping: boolean;
  again: boolean;
}

export type Hub = ReturnType<typeof createHub>;

export function createHub({ onBackgroundError }: { onBackgroundError: (error: Error) => void }) {
  const channels = new Map<string, Channel>();
  const readers = new Set<Reader>();
  let closed = false;

  function end(channel: Channel, reader: Reader): void {
    readers.delete(reader);
    channel.readers.delete(reader);
    if (channel.readers.size === 0 && channels.get(channel.log.topic) === channel)
      channels.delete(channel.log.topic);
    // One that takes nothing would not see the end either.
    if (reader.blockedAt === undefined) reader.response.end();
    else reader.response.destroy();
  }

  function endAll(channel: Channel): void {
    for (const reader of channel.readers) end(channel, reader);
  }

  /** Writes, and takes the follower off the shared reading where its connection is full. */
  function send(reader: Reader, text: string | Buffer, cursor: string): void {
    reader.cursor = cursor;
    if (reader.response.write(text)) return;
    reader.live = false;
    reader.blockedAt = performance.now();
    reader.waitingBytes = reader.response.writableLength;
  }

  /** Reads for one follower until it has all that there is, then lets it share. */
  async function catchUp(channel: Channel, reader: Reader): Promise<void> {
    if (reader.reading || reader.live) return;
    reader.reading = true;
    try {
      while (reader.blockedAt === undefined) {
        const shared = channel.cursor;
        const reading = await channel.log.read(reader.cursor);
        if (!readers.has(reader)) return;
        if (reading === undefined) return end(channel, reader);
        const last = reading.entries.at(-1);
        if (last !== undefined) send(reader, reading.entries.map(frame).join(''), last.cursor);
        // The shared reading may have gone on meanwhile, past what this one has seen.
        if (reading.more || reader.blockedAt !== undefined || channel.cursor !== shared) continue;
        reader.live = true;
        if (shared !== undefined) return;
        channel.cursor = reader.cursor;
        // A ring that came before there was a shared reading went unheard.
        return void pump(channel).catch(onBackgroundError);
      }
    } finally {
      reader.reading = false;
    }
  }

  async function deliver(channel: Channel, before: string, entries: readonly Entry[], after: string) {
    const shared = Buffer.from(entries.map(frame).join(''));
    for (const [i, reader] of [...channel.readers].entries()) {
      if ((i + 1) % fanOutMax === 0) await setImmediate();
      if (!reader.live || !readers.has(reader)) continue;
      if (reader.cursor === before) send(reader, shared, after);
      else {
        // It had caught up to a place that the shared reading reaches only now.
        const fresh = entries.filter(({ cursor }) => channel.log.compare(cursor, reader.cursor) > 0);
        if (fresh.length > 0) send(reader, fresh.map(frame).join(''), after);
      }
    }
  }

  async function pumpOnce(channel: Channel): Promise<void> {
    for (;;) {
      const before = channel.cursor;
      // Where nobody is live, each reads for itself; but one that is blocked would not see the end of the log.
      if (before === undefined) return (await channel.log.isGone()) ? endAll(channel) : undefined;
      const reading = await channel.log.read(before);
      if (reading === undefined) return endAll(channel);
      const last = reading.entries.at(-1);
      if (last === undefined) return;
      channel.cursor = last.cursor;
      await deliver(channel, before, reading.entries, last.cursor);
      if (!reading.more) return;
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
      channel = { log, readers: new Set(), cursor: undefined, pumping: false, again: false };
      channels.set(log.topic, channel);
    }
    return channel;
  }

  /** Follows from the cursor on. The response must have sent its head. */
  function follow(log: Log, cursor: string, response: ServerResponse): Follower {
    const channel = channelOf(log);
    const reader: Reader = {
      response,
      cursor,
      live: false,
      reading: false,
      blockedAt: undefined,
      waitingBytes: 0,
    };
    channel.readers.add(reader);
    readers.add(reader);
    const finish = () => end(channel, reader);
    const goOn = () => {
      reader.blockedAt = undefined;
      catchUp(channel, reader).catch(fail);
    };
    const fail = (error: Error) => {
      onBackgroundError(error);
      finish();
    };
    response.on('drain', goOn);
    response.on('close', finish);
    if (closed) finish();
    else goOn();
    return { end: finish };
  }

  /** Something of these topics has changed. */
  function ring(topics: readonly string[]): void {
    for (const topic of topics) {
      const channel = channels.get(topic);
      if (channel !== undefined) pump(channel).catch(onBackgroundError);
    }
  }

  const heartbeats = setInterval(() => {
    const now = performance.now();
    for (const channel of channels.values())
      for (const reader of channel.readers) {
        if (reader.blockedAt === undefined) reader.response.write(heartbeat);
        else if (reader.response.writableLength < reader.waitingBytes) {
          // Slow, but it reads.
          reader.blockedAt = now;
          reader.waitingBytes = reader.response.writableLength;
        } else if (now - reader.blockedAt > stalledMs) reader.response.destroy();
      }
  }, heartbeatMs);
  heartbeats.unref();

  return {
    follow,
    ring,
    /** Every log that is followed, and where its shared reading is. */
    followed: () => [...channels.values()].map(({ log, cursor }) => ({ topic: log.topic, cursor })),
    size: () => readers.size,
    followers: (topic: string) => channels.get(topic)?.readers.size ?? 0,
    close: () => {
      closed = true;
      clearInterval(heartbeats);
      for (const channel of channels.values()) endAll(channel);
    },
  };
}
