// Limits the memory for events that clients have not taken yet, of each user and of all. Otherwise a user could open many
// streams and read none of them. The stream that has waited longest for its client is closed first; its client can
// connect again and continue.
import { mib } from '../validation/schema.ts';

const userBytesMax = 64 * mib;
const allBytesMax = 256 * mib;

interface OpenStream {
  readonly held: Set<Buffer>;
  readonly close: () => void;
}

interface UnsentOfUser {
  bytes: number;
  /** How many streams hold each buffer: live subscribers share theirs, which counts once. */
  readonly holders: Map<Buffer, number>;
  /** The streams that hold something, in the order in which they began to. */
  readonly streams: Set<OpenStream>;
}

export interface UnsentOfStream {
  hold(buffer: Buffer): void;
  release(buffer: Buffer): void;
  releaseAll(): void;
}

export type UnsentBytes = ReturnType<typeof createUnsentBytes>;

export function createUnsentBytes({ userMax = userBytesMax, allMax = allBytesMax } = {}) {
  const users = new Map<number, UnsentOfUser>();
  let all = 0;

  function add(user: UnsentOfUser, bytes: number): void {
    user.bytes += bytes;
    all += bytes;
  }

  function release(user: UnsentOfUser, stream: OpenStream, buffer: Buffer): void {
    if (!stream.held.delete(buffer)) return;
    if (stream.held.size === 0) user.streams.delete(stream);
    const count = user.holders.get(buffer) ?? 0;
    if (count > 1) return void user.holders.set(buffer, count - 1);
    user.holders.delete(buffer);
    add(user, -buffer.length);
  }

  function closeOldest(user: UnsentOfUser): void {
    const [oldest] = user.streams;
    if (oldest === undefined) return;
    for (const buffer of oldest.held) release(user, oldest, buffer);
    oldest.close();
  }

  function heaviest(): UnsentOfUser | undefined {
    return [...users.values()].sort((a, b) => b.bytes - a.bytes)[0];
  }

  function bound(user: UnsentOfUser): void {
    while (user.bytes > userMax) closeOldest(user);
    while (all > allMax) closeOldest(heaviest() ?? user);
  }

  function userOf(userId: number): UnsentOfUser {
    const user = users.get(userId) ?? { bytes: 0, holders: new Map(), streams: new Set() };
    users.set(userId, user);
    return user;
  }

  return {
    /** `close` must close the stream at once. */
    openStream: (userId: number, close: () => void): UnsentOfStream => {
      const stream: OpenStream = { held: new Set(), close };
      const forget = (user: UnsentOfUser) => {
        if (user.streams.size === 0 && users.get(userId) === user) users.delete(userId);
      };
      return {
        hold: (buffer) => {
          const user = userOf(userId);
          if (stream.held.has(buffer)) return;
          stream.held.add(buffer);
          user.streams.add(stream);
          const count = user.holders.get(buffer) ?? 0;
          user.holders.set(buffer, count + 1);
          if (count === 0) add(user, buffer.length);
          bound(user);
        },
        release: (buffer) => {
          const user = userOf(userId);
          release(user, stream, buffer);
          forget(user);
        },
        releaseAll: () => {
          const user = userOf(userId);
          for (const buffer of stream.held) release(user, stream, buffer);
          forget(user);
        },
      };
    },
    total: () => all,
  };
}
