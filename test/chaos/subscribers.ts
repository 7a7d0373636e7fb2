// Clients that follow streams through everything: they are cut off, come again with the last id that they saw, and
// keep what they were sent.
import { setTimeout as wait } from 'node:timers/promises';
import { openStream, type Stream } from '../support/stream.ts';
import type { Cluster } from './cluster.ts';
import type { StreamFrame, StreamView } from './history.ts';
import type { User } from './operations.ts';
import type { Random } from './random.ts';

const headWithinMs = 5_000;
const againMs = 200;
const lookMs = 50;
const cutBytesMax = 20_000;
const holdMs = { min: 300, max: 6_000 };

export interface Subscriber {
  view(): StreamView;
  /** Whether it has seen so many frames. */
  hasSeen(count: number): boolean;
  stop(): Promise<void>;
}

interface SubscriberOptions {
  readonly cluster: Cluster;
  readonly user: User;
  /** Undefined: all changes of the user. */
  readonly conversation: string | undefined;
  readonly random: Random;
  /** While it is true connections are also cut by the client. */
  readonly isRough: () => boolean;
}

export function subscribe(options: SubscriberOptions): Subscriber {
  const { cluster, user, conversation, random, isRough } = options;
  const path =
    conversation === undefined ? '/api/events/stream' : `/api/conversations/${conversation}/events/stream`;
  const frames: StreamFrame[] = [];
  const stopped = new AbortController();
  let lastEventId: string | undefined;
  let connections = 0;
  let current: Stream | undefined;

  function take(stream: Stream): void {
    for (const { id, event, data } of stream.frames()) frames.push({ id, event, text: data });
    lastEventId = stream.lastId() ?? lastEventId;
    current = undefined;
  }

  async function connect(url: string): Promise<Stream> {
    const head = new AbortController();
    const timer = setTimeout(() => head.abort(), headWithinMs);
    const cutAfter = isRough() && random.chance(0.3) ? random.between(1, cutBytesMax) : undefined;
    try {
      return await openStream(url, path, {
        key: user.key,
        signal: head.signal,
        ...(lastEventId === undefined ? {} : { lastEventId }),
        ...(cutAfter === undefined ? {} : { cutAfter }),
      });
    } finally {
      clearTimeout(timer);
    }
  }

  async function followOnce(url: string): Promise<void> {
    const stream = await connect(url);
    if (stream.status !== 200) {
      stream.cut();
      return;
    }
    connections += 1;
    current = stream;
    const cutAtMs = performance.now() + random.between(holdMs.min, holdMs.max);
    while (!stream.closed() && !stopped.signal.aborted) {
      if (isRough() && performance.now() > cutAtMs) break;
      await wait(lookMs);
    }
    // First what came, or what comes while it is cut would be lost to this client alone.
    take(stream);
    stream.cut();
  }

  async function follow(): Promise<void> {
    while (!stopped.signal.aborted) {
      const able = cluster.members.filter((member) => member.answersRequests && member.url() !== undefined);
      const url = able.length === 0 ? undefined : random.pick(able).url();
      if (url !== undefined) await followOnce(url).catch(() => {});
      await wait(againMs);
    }
  }
  const following = follow();

  return {
    view: () => ({ user: user.name, conversation, connections, frames }),
    hasSeen: (count) => frames.length + (current?.frames().length ?? 0) >= count,
    stop: async () => {
      stopped.abort();
      await following;
    },
  };
}
