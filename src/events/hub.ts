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

export interface Following {
  /** Ends it: the connection is closed, and the follower may come again. */
  end(): void;
}

const heartbeatMs = 15_000;
/** A connection that takes nothing for so long, though there is something, is closed. */
const stalledMs = 60_000;
const heartbeat = ': still here\n\n';
/** Followers that are written to in one go; then others have their turn. */
const fanOutMax = 500;

function frame({ cursor, data }: Entry): string {
  return `id: ${cursor}\ndata: ${data}\n\n`;
}

interface Follower {
  readonly response: ServerResponse;
  cursor: string;
  /** Gets new entries as they come; otherwise it reads by itself. */
  live: boolean;
  reading: boolean;
  /** Its connection is full. */
  blocked: boolean;
}

interface Channel {
  readonly log: Log;
  readonly followers: Set<Follower>;
  /** Where the shared reading is; undefined until somebody was live. */
  cursor: string | undefined;
  pumping: boolean;
  again: boolean;
}

export type Hub = ReturnType<typeof createHub>;

export function createHub({ onBackgroundError }: { onBackgroundError: (error: Error) => void }) {
  const channels = new Map<string, Channel>();
  const all = new Set<Follower>();
  let closed = false;

  function end(channel: Channel, follower: Follower): void {
    all.delete(follower);
    channel.followers.delete(follower);
    if (channel.followers.size === 0 && channels.get(channel.log.topic) === channel)
      channels.delete(channel.log.topic);
    // One that takes nothing would not see the end either.
    if (follower.blocked) follower.response.destroy();
    else follower.response.end();
  }

  function endAll(channel: Channel): void {
    for (const follower of channel.followers) end(channel, follower);
  }

  /** Writes, and takes the follower off the shared reading where its connection is full. */
  function send(follower: Follower, text: string | Buffer, cursor: string): void {
    follower.cursor = cursor;
    if (follower.response.write(text)) return;
    follower.live = false;
    follower.blocked = true;
  }

  /** Reads for one follower until it has all that there is, then lets it share. */
  async function catchUp(channel: Channel, follower: Follower): Promise<void> {
    if (follower.reading || follower.live) return;
    follower.reading = true;
    try {
      while (!follower.blocked) {
        const shared = channel.cursor;
        const reading = await channel.log.read(follower.cursor);
        if (!all.has(follower)) return;
        if (reading === undefined) return end(channel, follower);
        const last = reading.entries.at(-1);
        if (last !== undefined) send(follower, reading.entries.map(frame).join(''), last.cursor);
        // The shared reading may have gone on meanwhile, past what this one has seen.
        if (reading.more || follower.blocked || channel.cursor !== shared) continue;
        follower.live = true;
        if (shared !== undefined) return;
        channel.cursor = follower.cursor;
        // A ring that came before there was a shared reading went unheard.
        return void pump(channel).catch(onBackgroundError);
      }
    } finally {
      follower.reading = false;
    }
  }

  async function deliver(channel: Channel, before: string, entries: readonly Entry[], after: string) {
    const shared = Buffer.from(entries.map(frame).join(''));
    for (const [i, follower] of [...channel.followers].entries()) {
      if ((i + 1) % fanOutMax === 0) await setImmediate();
      if (!follower.live || !all.has(follower)) continue;
      if (follower.cursor === before) send(follower, shared, after);
      else {
        // It had caught up to a place that the shared reading reaches only now.
        const fresh = entries.filter(({ cursor }) => channel.log.compare(cursor, follower.cursor) > 0);
        if (fresh.length > 0) send(follower, fresh.map(frame).join(''), after);
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
      channel = { log, followers: new Set(), cursor: undefined, pumping: false, again: false };
      channels.set(log.topic, channel);
    }
    return channel;
  }

  /** Follows from the cursor on. The response must have sent its head. */
  function follow(log: Log, cursor: string, response: ServerResponse): Following {
    const channel = channelOf(log);
    const follower: Follower = {
      response,
      cursor,
      live: false,
      reading: false,
      blocked: false,
    };
    channel.followers.add(follower);
    all.add(follower);
    const finish = () => end(channel, follower);
    const goOn = () => {
      follower.blocked = false;
      catchUp(channel, follower).catch(fail);
    };
    const fail = (error: Error) => {
      onBackgroundError(error);
      finish();
    };
    response.on('drain', goOn);
    // Node looks at the bytes that are taken: one that reads slowly stays, one that reads nothing goes.
    response.setTimeout(stalledMs, () => response.destroy());
    response.on('close', finish);
    if (closed) finish();
    else goOn();
    return { end: finish };
  }

  /** Something of these topics has changed. */
  function ring(topics: readonly string[]): void {
    // Mostly nobody follows, and a look for a text that is new to V8 costs more than it seems.
    if (channels.size === 0) return;
    for (const topic of topics) {
      const channel = channels.get(topic);
      if (channel !== undefined) pump(channel).catch(onBackgroundError);
    }
  }

  async function beat(): Promise<void> {
    for (const [i, follower] of [...all].entries()) {
      if ((i + 1) % fanOutMax === 0) await setImmediate();
      if (all.has(follower) && !follower.blocked) follower.response.write(heartbeat);
    }
  }
  const heartbeats = setInterval(() => void beat().catch(onBackgroundError), heartbeatMs);
  heartbeats.unref();

  return {
    follow,
    ring,
    /** Every log that is followed, and where its shared reading is. */
    followed: () => [...channels.values()].map(({ log, cursor }) => ({ topic: log.topic, cursor })),
    size: () => all.size,
    followers: (topic: string) => channels.get(topic)?.followers.size ?? 0,
    close: () => {
      closed = true;
      clearInterval(heartbeats);
      for (const channel of channels.values()) endAll(channel);
    },
  };
}
