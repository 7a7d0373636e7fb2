// Caches that forget what was used least recently. Given `max`, lru-cache allocates all its entries when it is created,
// which takes milliseconds of every start for each cache. Given `maxSize`, it grows as it is used.
import { LRUCache } from 'lru-cache';

interface LruOptions {
  readonly ttlMs?: number;
}

/** A cache of at most `entriesMax` entries. With `ttlMs`, an entry expires that long after it was set. */
export function createLru<Key extends {}, Value extends {}>(
  entriesMax: number,
  { ttlMs }: LruOptions = {},
): LRUCache<Key, Value> {
  return new LRUCache<Key, Value>({
    maxSize: entriesMax,
    sizeCalculation: () => 1,
    ...(ttlMs === undefined ? {} : { ttl: ttlMs, ttlResolution: 0 }),
  });
}
