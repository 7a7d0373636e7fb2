import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { openStream, type Stream, untilClosed, untilFrames } from '../../test/support/stream.ts';
import { until } from '../../test/support/until.ts';
import { createHub, type Subscription } from './hub.ts';
import type { Entry, Log } from './receiver.ts';
import { sseReceiver } from './sse.ts';
import { createUnsentBytes } from './unsentBytes.ts';

const topic = 'c1';
const turnsToSettle = 50;

/** A log in memory. Its reads can be held, so that a test can do something meanwhile. */
function createLog(pieceMax = 10) {
  const entries: Entry[] = [];
  const held: (() => void)[] = [];
  let holding = false;
  let gone = false;
  let failing = false;
  let reads = 0;

  const log: Log = {
    topic,
    read: async (cursor) => {
      reads += 1;
      const from = entries.findIndex((entry) => Number(entry.cursor) > Number(cursor));
      const found = from < 0 ? [] : entries.slice(from, from + pieceMax);
      const answer = gone ? undefined : { entries: found, more: found.length === pieceMax };
      if (holding) await new Promise<void>((go) => held.push(go));
      else await turn();
      if (failing) throw new Error('the log cannot be read');
      return answer;
    },
    compare: (a, b) => Number(a) - Number(b),
    isGone: async () => gone,
  };
  return {
    log,
    reads: () => reads,
    /** Adds entries with the numbers from `first` to `last`. */
    append: (first: number, last = first, words = 'x') => {
      for (let i = first; i <= last; i++) entries.push({ cursor: String(i), data: `${i}:${words}` });
    },
    forgetAll: () => void entries.splice(0),
    remove: () => {
      gone = true;
    },
    fail: (fails: boolean) => {
      failing = fails;
    },
    hold: () => {
      holding = true;
    },
    held: () => held.length,
    /** Releases the read that began last, and keeps holding the others. */
    releaseNewest: () => held.pop()?.(),
    release: () => {
      holding = false;
      for (const go of held.splice(0)) go();
    },
  };
}

interface Subscribed {
  readonly stream: Stream;
  readonly subscriber: Subscription;
  readonly response: ServerResponse;
}

/** Starts a hub behind a server that streams the log to every request, from the cursor and to the user in its path. */
async function startHub(t: TestContext, { log }: { log: Log }, unsent = createUnsentBytes()) {
  const errors: Error[] = [];
  const faults: Error[] = [];
  const hub = createHub({ onBackgroundError: (error) => errors.push(error) });
  const opened: Omit<Subscribed, 'stream'>[] = [];
  const server = createServer((request, response) => {
    response.on('error', (error) => faults.push(error));
    response.writeHead(200);
    response.flushHeaders();
    const [cursor = '', user = '1'] = String(request.url).slice(1).split('/');
    const userId = Number(user);
    opened.push({
      subscriber: hub.subscribe(log, cursor, sseReceiver(response, { unsent, userId })),
      response,
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.after(async () => {
    hub.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    assert.deepEqual(faults, [], 'nothing is written after the end');
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    hub,
    errors,
    notify: () => hub.notify([topic]),
    subscribe: async (cursor: number, user = 1): Promise<Subscribed> => {
      const stream = await openStream(url, `/${cursor}/${user}`, { key: 'none' });
      return { stream, ...(opened.at(-1) as Omit<Subscribed, 'stream'>) };
    },
  };
}

function idsOf({ stream }: Subscribed): number[] {
  return stream.frames().map(({ id }) => Number(id));
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

async function settle(): Promise<void> {
  for (let i = 0; i < turnsToSettle; i++) await turn();
}

describe('the hub', () => {
  it('sends each subscriber what follows its own cursor, and then the same to all', async (t) => {
    const memory = createLog();
    memory.append(0, 34);
    const { subscribe, notify } = await startHub(t, memory);
    const subscribers = [await subscribe(-1), await subscribe(20), await subscribe(34)];
    await untilFrames(subscribers[0]?.stream as Stream, 35);
    memory.append(35, 36);
    notify();
    for (const [i, first] of [0, 21, 35].entries()) {
      const one = subscribers[i] as Subscribed;
      await untilFrames(one.stream, 37 - first);
      assert.deepEqual(idsOf(one), range(first, 36));
    }
  });

  it('reads the log once for all live subscribers', async (t) => {
    const memory = createLog();
    const { subscribe, notify } = await startHub(t, memory);
    const subscribers = await Promise.all(Array.from({ length: 20 }, () => subscribe(-1)));
    await settle();
    const before = memory.reads();
    memory.append(0, 4);
    notify();
    for (const one of subscribers) await untilFrames(one.stream, 5);
    await settle();
    assert.equal(memory.reads() - before, 1);
  });

  it('handles a notification that arrives during a read', async (t) => {
    const memory = createLog();
    const { subscribe, notify } = await startHub(t, memory);
    const one = await subscribe(-1);
    await settle();
    memory.hold();
    notify();
    await until('it reads', () => memory.held() === 1);
    memory.append(0, 2);
    notify();
    memory.release();
    await untilFrames(one.stream, 3);
    assert.deepEqual(idsOf(one), range(0, 2));
  });

  it('lets a subscriber join during the shared read, and sends nothing twice', async (t) => {
    const memory = createLog();
    const { subscribe, notify } = await startHub(t, memory);
    const first = await subscribe(-1);
    await settle();
    memory.append(0, 2);
    memory.hold();
    notify();
    await until('the shared reading runs', () => memory.held() === 1);
    const joining = subscribe(-1);
    await until('the one who joins reads', () => memory.held() === 2);
    memory.release();
    const second = await joining;
    await untilFrames(second.stream, 3);
    memory.append(3, 5);
    notify();
    for (const one of [first, second]) {
      await untilFrames(one.stream, 6);
      assert.deepEqual(idsOf(one), range(0, 5));
    }
  });

  it('loses nothing for a subscriber whose read is older than what the shared read has sent', async (t) => {
    const memory = createLog();
    const { subscribe, notify } = await startHub(t, memory);
    const first = await subscribe(-1);
    await settle();
    memory.hold();
    const second = await subscribe(-1);
    await until('the second reads, and finds nothing', () => memory.held() === 1);
    memory.append(0, 2);
    notify();
    await until('the shared reading runs', () => memory.held() === 2);
    memory.releaseNewest();
    await untilFrames(first.stream, 3);
    memory.release();
    await untilFrames(second.stream, 3);
    for (const one of [first, second]) assert.deepEqual(idsOf(one), range(0, 2));
  });

  it('handles a notification that arrives during the read for the first subscriber', async (t) => {
    const memory = createLog();
    const { subscribe, notify } = await startHub(t, memory);
    memory.hold();
    const one = await subscribe(-1);
    await until('it reads, and finds nothing', () => memory.held() === 1);
    memory.append(0, 2);
    notify();
    await settle();
    memory.release();
    await untilFrames(one.stream, 3);
    assert.deepEqual(idsOf(one), range(0, 2));
  });

  it('sends nothing twice to a subscriber that joins ahead of the shared read', async (t) => {
    const memory = createLog();
    const { subscribe, notify } = await startHub(t, memory);
    const behind = await subscribe(-1);
    await settle();
    memory.append(0, 4);
    const ahead = await subscribe(4);
    await settle();
    memory.append(5);
    notify();
    await untilFrames(behind.stream, 6);
    await untilFrames(ahead.stream, 1);
    assert.deepEqual([idsOf(behind), idsOf(ahead)], [range(0, 5), [5]]);
  });

  it('does not read forever for a subscriber that is behind entries that were deleted', async (t) => {
    const memory = createLog();
    memory.append(0, 9);
    const { subscribe, notify } = await startHub(t, memory);
    const first = await subscribe(-1);
    await untilFrames(first.stream, 10);
    memory.forgetAll();
    const second = await subscribe(3);
    await settle();
    const before = memory.reads();
    await settle();
    assert.equal(memory.reads(), before);
    memory.append(10, 11);
    notify();
    await untilFrames(first.stream, 12);
    await untilFrames(second.stream, 2);
    assert.deepEqual([idsOf(first), idsOf(second)], [range(0, 11), [10, 11]]);
  });

  it('ends every subscriber of a deleted log, including those that are behind', async (t) => {
    const memory = createLog();
    memory.append(0, 3);
    const { hub, subscribe, notify } = await startHub(t, memory);
    const live = await subscribe(-1);
    await untilFrames(live.stream, 4);
    memory.hold();
    const joining = subscribe(-1);
    await until('it reads', () => memory.held() === 1);
    memory.remove();
    memory.release();
    notify();
    for (const one of [live, await joining]) {
      await untilClosed(one.stream);
      assert.ok(one.stream.complete());
    }
    assert.deepEqual([hub.size(), hub.subscribers(topic), hub.openLogs()], [0, 0, []]);
  });

  it('writes nothing to a subscriber that was ended during its read', async (t) => {
    const memory = createLog();
    memory.append(0, 3);
    const { hub, subscribe } = await startHub(t, memory);
    memory.hold();
    const one = await subscribe(-1);
    await until('it reads', () => memory.held() === 1);
    one.subscriber.end();
    memory.release();
    await untilClosed(one.stream);
    await settle();
    assert.deepEqual([one.stream.text(), hub.size()], ['', 0]);
  });

  it('removes a subscriber whose connection breaks during its read', async (t) => {
    const memory = createLog();
    memory.append(0, 3);
    const { hub, errors, subscribe, notify } = await startHub(t, memory);
    const stays = await subscribe(3);
    await settle();
    memory.hold();
    const goes = await subscribe(-1);
    await until('it reads', () => memory.held() === 1);
    goes.stream.cut();
    await until('it is forgotten', () => hub.size() === 1);
    memory.append(4);
    notify();
    memory.release();
    await untilFrames(stays.stream, 1);
    await settle();
    assert.deepEqual([idsOf(stays), errors], [[4], []]);
  });

  it('ends a subscriber whose own read fails, and keeps the live ones', async (t) => {
    const memory = createLog();
    memory.append(0, 3);
    const { errors, subscribe, notify } = await startHub(t, memory);
    const live = await subscribe(-1);
    await untilFrames(live.stream, 4);
    memory.fail(true);
    const broken = await subscribe(-1);
    await untilClosed(broken.stream);
    memory.append(4);
    notify();
    await until('the failures are told', () => errors.length === 2);
    memory.fail(false);
    notify();
    await untilFrames(live.stream, 5);
    assert.deepEqual(idsOf(live), range(0, 4));
  });

  it('ends all subscribers when it closes', async (t) => {
    const memory = createLog();
    const { hub, subscribe } = await startHub(t, memory);
    const subscribers = [await subscribe(-1), await subscribe(-1)];
    hub.close();
    for (const one of subscribers) await untilClosed(one.stream);
    assert.equal(hub.size(), 0);
  });

  it('sends heartbeats while nothing happens', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const { subscribe } = await startHub(t, createLog());
    const one = await subscribe(-1);
    t.mock.timers.tick(15_000);
    await until('the heartbeat', () => one.stream.text() === ': still here\n\n');
  });
});

describe('a subscriber that does not read', () => {
  const entryBytes = 250_000;
  const entries = 200;
  /** Twice the size of one read of ten entries. Fifty megabytes are waiting. */
  const bufferedBytesMax = 20 * entryBytes;

  it('is ended when its log is deleted, even if it never caught up', async (t) => {
    const memory = createLog();
    memory.append(0, entries - 1, 'x'.repeat(entryBytes));
    const { hub, subscribe, notify } = await startHub(t, memory);
    const slow = await subscribe(-1);
    slow.stream.pause();
    await until('it is behind', () => slow.response.writableNeedDrain);
    await settle();
    memory.remove();
    notify();
    await until('it is ended', () => hub.size() === 0);
    slow.stream.resume();
    await untilClosed(slow.stream);
    assert.ok(idsOf(slow).length < entries);
  });

  it('is closed if the streams of its user hold too much, while those that read are served', async (t) => {
    const memory = createLog();
    // One read of ten entries, but not two.
    const unsent = createUnsentBytes({ userMax: 12 * entryBytes });
    const { subscribe, notify } = await startHub(t, memory, unsent);
    memory.append(0, entries - 1, 'x'.repeat(entryBytes));
    const fast = await subscribe(entries - 1);
    const ofOther = await subscribe(-1, 2);
    ofOther.stream.pause();
    await until('it is behind', () => ofOther.response.writableNeedDrain);
    const first = await subscribe(-1);
    first.stream.pause();
    await until('it is behind', () => first.response.writableNeedDrain);
    const second = await subscribe(1);
    second.stream.pause();
    await until('the one that waits longest is closed', () => first.response.destroyed);
    await settle();
    assert.deepEqual([second.response.destroyed, ofOther.response.destroyed], [false, false]);
    assert.ok(unsent.total() < 24 * entryBytes);
    memory.append(entries, entries, 'short');
    notify();
    await until('the others are served', () => Number(fast.stream.lastId()) === entries);
    const resumed = await subscribe(Number(first.stream.lastId() ?? -1));
    await until('it continues', () => Number(resumed.stream.lastId()) === entries);
  });

  it('is closed if all streams together hold too much and those of its user hold most', async (t) => {
    const memory = createLog();
    const unsent = createUnsentBytes({ allMax: 22 * entryBytes });
    const { subscribe } = await startHub(t, memory, unsent);
    memory.append(0, entries - 1, 'x'.repeat(entryBytes));
    const waiting: Subscribed[] = [];
    for (const [cursor, user] of [
      [-1, 2],
      [-1, 1],
      [1, 1],
    ] as const) {
      const one = await subscribe(cursor, user);
      one.stream.pause();
      waiting.push(one);
      await until('it is behind', () => one.response.writableNeedDrain || one.response.destroyed);
    }
    await until('one is closed', () => waiting.some(({ response }) => response.destroyed));
    await settle();
    assert.deepEqual(
      waiting.map(({ response }) => response.destroyed),
      [false, true, false],
    );
  });

  it('buffers at most one read, delays no other subscriber, and receives everything once it reads', async (t) => {
    const memory = createLog();
    const { hub, subscribe, notify } = await startHub(t, memory);
    const slow = await subscribe(-1);
    const fast = await subscribe(-1);
    await settle();
    slow.stream.pause();
    let buffered = 0;
    for (let i = 0; i < entries; i++) {
      memory.append(i, i, 'x'.repeat(entryBytes));
      notify();
      await turn();
      buffered = Math.max(buffered, slow.response.writableLength);
    }
    await until('the other one has everything', () => Number(fast.stream.lastId()) === entries - 1);
    buffered = Math.max(buffered, slow.response.writableLength);
    assert.ok(buffered > entryBytes && buffered < bufferedBytesMax, `${buffered} bytes wait`);
    assert.equal(hub.size(), 2);
    slow.stream.resume();
    await until('it has everything', () => Number(slow.stream.lastId()) === entries - 1);
    for (const one of [slow, fast]) assert.deepEqual(idsOf(one), range(0, entries - 1));
  });
});
