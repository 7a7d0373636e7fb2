import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { openStream, type Stream, untilClosed, untilFrames } from '../../test/support/stream.ts';
import { until } from '../../test/support/until.ts';
import { createHub, type Entry, type Following, type Log } from './hub.ts';

const topic = 'c1';
const turnsToSettle = 50;

/** A log in memory. Its readings can be held, to let things happen meanwhile. */
function createLog(pieceMax = 10) {
  const entries: Entry[] = [];
  const held: (() => void)[] = [];
  let holding = false;
  let gone = false;
  let failing = false;
  let readings = 0;

  const log: Log = {
    topic,
    read: async (cursor) => {
      readings += 1;
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
    readings: () => readings,
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
    /** Lets the reading go on that began last, and holds the others. */
    releaseNewest: () => held.pop()?.(),
    release: () => {
      holding = false;
      for (const go of held.splice(0)) go();
    },
  };
}

interface Followed {
  readonly stream: Stream;
  readonly follower: Following;
  readonly response: ServerResponse;
}

/** A hub behind a server whose every request follows the log from the cursor in its path. */
async function startHub(t: TestContext, { log }: { log: Log }) {
  const errors: Error[] = [];
  const faults: Error[] = [];
  const hub = createHub({ onBackgroundError: (error) => errors.push(error) });
  const opened: Omit<Followed, 'stream'>[] = [];
  const server = createServer((request, response) => {
    response.on('error', (error) => faults.push(error));
    response.writeHead(200);
    response.flushHeaders();
    const cursor = String(request.url).slice(1);
    opened.push({ follower: hub.follow(log, cursor, response), response });
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
    ring: () => hub.ring([topic]),
    follow: async (cursor: number): Promise<Followed> => {
      const stream = await openStream(url, `/${cursor}`, { key: 'none' });
      return { stream, ...(opened.at(-1) as Omit<Followed, 'stream'>) };
    },
  };
}

function idsOf({ stream }: Followed): number[] {
  return stream.frames().map(({ id }) => Number(id));
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

async function settle(): Promise<void> {
  for (let i = 0; i < turnsToSettle; i++) await turn();
}

describe('the hub', () => {
  it('gives each follower what follows its own cursor, and then the same to all', async (t) => {
    const memory = createLog();
    memory.append(0, 34);
    const { follow, ring } = await startHub(t, memory);
    const followers = [await follow(-1), await follow(20), await follow(34)];
    await untilFrames(followers[0]?.stream as Stream, 35);
    memory.append(35, 36);
    ring();
    for (const [i, first] of [0, 21, 35].entries()) {
      const one = followers[i] as Followed;
      await untilFrames(one.stream, 37 - first);
      assert.deepEqual(idsOf(one), range(first, 36));
    }
  });

  it('reads the log once for all who are live', async (t) => {
    const memory = createLog();
    const { follow, ring } = await startHub(t, memory);
    const followers = await Promise.all(Array.from({ length: 20 }, () => follow(-1)));
    await settle();
    const before = memory.readings();
    memory.append(0, 4);
    ring();
    for (const one of followers) await untilFrames(one.stream, 5);
    await settle();
    assert.equal(memory.readings() - before, 1);
  });

  it('hears a ring that comes while it reads', async (t) => {
    const memory = createLog();
    const { follow, ring } = await startHub(t, memory);
    const one = await follow(-1);
    await settle();
    memory.hold();
    ring();
    await until('it reads', () => memory.held() === 1);
    memory.append(0, 2);
    ring();
    memory.release();
    await untilFrames(one.stream, 3);
    assert.deepEqual(idsOf(one), range(0, 2));
  });

  it('lets a follower join while the shared reading runs, and sends nothing twice', async (t) => {
    const memory = createLog();
    const { follow, ring } = await startHub(t, memory);
    const first = await follow(-1);
    await settle();
    memory.append(0, 2);
    memory.hold();
    ring();
    await until('the shared reading runs', () => memory.held() === 1);
    const joining = follow(-1);
    await until('the one who joins reads', () => memory.held() === 2);
    memory.release();
    const second = await joining;
    await untilFrames(second.stream, 3);
    memory.append(3, 5);
    ring();
    for (const one of [first, second]) {
      await untilFrames(one.stream, 6);
      assert.deepEqual(idsOf(one), range(0, 5));
    }
  });

  it('misses nothing for one whose reading is older than what the shared one has sent', async (t) => {
    const memory = createLog();
    const { follow, ring } = await startHub(t, memory);
    const first = await follow(-1);
    await settle();
    memory.hold();
    const second = await follow(-1);
    await until('the second reads, and finds nothing', () => memory.held() === 1);
    memory.append(0, 2);
    ring();
    await until('the shared reading runs', () => memory.held() === 2);
    memory.releaseNewest();
    await untilFrames(first.stream, 3);
    memory.release();
    await untilFrames(second.stream, 3);
    for (const one of [first, second]) assert.deepEqual(idsOf(one), range(0, 2));
  });

  it('hears a ring that came while the first follower was read for', async (t) => {
    const memory = createLog();
    const { follow, ring } = await startHub(t, memory);
    memory.hold();
    const one = await follow(-1);
    await until('it reads, and finds nothing', () => memory.held() === 1);
    memory.append(0, 2);
    ring();
    await settle();
    memory.release();
    await untilFrames(one.stream, 3);
    assert.deepEqual(idsOf(one), range(0, 2));
  });

  it('sends nothing twice to one who joins ahead of the shared reading', async (t) => {
    const memory = createLog();
    const { follow, ring } = await startHub(t, memory);
    const behind = await follow(-1);
    await settle();
    memory.append(0, 4);
    const ahead = await follow(4);
    await settle();
    memory.append(5);
    ring();
    await untilFrames(behind.stream, 6);
    await untilFrames(ahead.stream, 1);
    assert.deepEqual([idsOf(behind), idsOf(ahead)], [range(0, 5), [5]]);
  });

  it('does not read for ever for one who is behind entries that are no longer kept', async (t) => {
    const memory = createLog();
    memory.append(0, 9);
    const { follow, ring } = await startHub(t, memory);
    const first = await follow(-1);
    await untilFrames(first.stream, 10);
    memory.forgetAll();
    const second = await follow(3);
    await settle();
    const before = memory.readings();
    await settle();
    assert.equal(memory.readings(), before);
    memory.append(10, 11);
    ring();
    await untilFrames(first.stream, 12);
    await untilFrames(second.stream, 2);
    assert.deepEqual([idsOf(first), idsOf(second)], [range(0, 11), [10, 11]]);
  });

  it('ends every follower of a log that is gone, also who was still behind', async (t) => {
    const memory = createLog();
    memory.append(0, 3);
    const { hub, follow, ring } = await startHub(t, memory);
    const live = await follow(-1);
    await untilFrames(live.stream, 4);
    memory.hold();
    const joining = follow(-1);
    await until('it reads', () => memory.held() === 1);
    memory.remove();
    memory.release();
    ring();
    for (const one of [live, await joining]) {
      await untilClosed(one.stream);
      assert.ok(one.stream.complete());
    }
    assert.deepEqual([hub.size(), hub.followers(topic), hub.followed()], [0, 0, []]);
  });

  it('writes nothing to a follower that was ended while it was read for', async (t) => {
    const memory = createLog();
    memory.append(0, 3);
    const { hub, follow } = await startHub(t, memory);
    memory.hold();
    const one = await follow(-1);
    await until('it reads', () => memory.held() === 1);
    one.follower.end();
    memory.release();
    await untilClosed(one.stream);
    await settle();
    assert.deepEqual([one.stream.text(), hub.size()], ['', 0]);
  });

  it('forgets a follower whose connection breaks while it is read for', async (t) => {
    const memory = createLog();
    memory.append(0, 3);
    const { hub, errors, follow, ring } = await startHub(t, memory);
    const stays = await follow(3);
    await settle();
    memory.hold();
    const goes = await follow(-1);
    await until('it reads', () => memory.held() === 1);
    goes.stream.cut();
    await until('it is forgotten', () => hub.size() === 1);
    memory.append(4);
    ring();
    memory.release();
    await untilFrames(stays.stream, 1);
    await settle();
    assert.deepEqual([idsOf(stays), errors], [[4], []]);
  });

  it('ends a follower whose own reading fails, and keeps those who are live', async (t) => {
    const memory = createLog();
    memory.append(0, 3);
    const { errors, follow, ring } = await startHub(t, memory);
    const live = await follow(-1);
    await untilFrames(live.stream, 4);
    memory.fail(true);
    const broken = await follow(-1);
    await untilClosed(broken.stream);
    memory.append(4);
    ring();
    await until('the failures are told', () => errors.length === 2);
    memory.fail(false);
    ring();
    await untilFrames(live.stream, 5);
    assert.deepEqual(idsOf(live), range(0, 4));
  });

  it('ends all of them when it closes', async (t) => {
    const memory = createLog();
    const { hub, follow } = await startHub(t, memory);
    const followers = [await follow(-1), await follow(-1)];
    hub.close();
    for (const one of followers) await untilClosed(one.stream);
    assert.equal(hub.size(), 0);
  });

  it('says that it is still there while nothing happens', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const { follow } = await startHub(t, createLog());
    const one = await follow(-1);
    t.mock.timers.tick(15_000);
    await until('the heartbeat', () => one.stream.text() === ': still here\n\n');
  });
});

describe('a follower that does not read', () => {
  const entryBytes = 250_000;
  const entries = 200;
  /** A reading of ten entries, twice over, of the fifty megabytes that wait. */
  const bufferedBytesMax = 20 * entryBytes;

  it('is ended with its log, also where it has never caught up', async (t) => {
    const memory = createLog();
    memory.append(0, entries - 1, 'x'.repeat(entryBytes));
    const { hub, follow, ring } = await startHub(t, memory);
    const slow = await follow(-1);
    slow.stream.pause();
    await until('it is behind', () => slow.response.writableNeedDrain);
    await settle();
    memory.remove();
    ring();
    await until('it is ended', () => hub.size() === 0);
    slow.stream.resume();
    await untilClosed(slow.stream);
    assert.ok(idsOf(slow).length < entries);
  });

  it('costs no more than a reading, holds up nobody, and gets everything once it reads', async (t) => {
    const memory = createLog();
    const { hub, follow, ring } = await startHub(t, memory);
    const slow = await follow(-1);
    const fast = await follow(-1);
    await settle();
    slow.stream.pause();
    let buffered = 0;
    for (let i = 0; i < entries; i++) {
      memory.append(i, i, 'x'.repeat(entryBytes));
      ring();
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
