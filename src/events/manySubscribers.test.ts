// Many subscribers of one log: what is done once for all of them, and when other work gets its turn.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { until } from '../../test/support/until.ts';
import type { PartialText } from './decoder/openTexts.ts';
import { createHub } from './hub.ts';
import { createPace } from './pace.ts';
import type { PartialListener } from './partials/livePartials.ts';
import type { Batch, Entry, Log, Receiver } from './receiver.ts';

const topic = 'c1';
const subscribers = 200;
const pageMax = 2;
const entryChars = 32 * 1_024;

/** A log in memory whose reads take no time, like those of SQLite. */
function createLog(entries: Entry[]) {
  let reads = 0;
  let listener: PartialListener | undefined;
  const log: Log = {
    topic,
    read: async (cursor) => {
      reads += 1;
      const from = Number(cursor) + 1;
      return { entries: entries.slice(from, from + pageMax), more: entries.length > from + pageMax };
    },
    compare: (a, b) => Number(a) - Number(b),
    isGone: async () => false,
    openPartials: (opened) => {
      listener = opened;
      return { onEvents: () => {}, close: () => {} };
    },
  };
  return {
    log,
    reads: () => reads,
    write: (partial: PartialText) => listener?.add([partial]),
    isOpen: () => listener !== undefined,
  };
}

const entriesOf = (count: number, chars = 1): Entry[] =>
  Array.from({ length: count }, (_, i) => ({ cursor: String(i), data: 'x'.repeat(chars) }));

/** A connection that takes everything. */
function createConnection(onBatch: (batch: Batch) => void, onPartials?: (batch: Batch<PartialText>) => void) {
  const receiver: Receiver = {
    receive: (batch) => {
      onBatch(batch);
      return true;
    },
    ...(onPartials === undefined
      ? {}
      : {
          receivePartials: (batch) => {
            onPartials(batch);
            return true;
          },
        }),
    beat: () => {},
    end: () => {},
    destroy: () => {},
    onDrain: () => {},
    onClose: () => {},
  };
  return receiver;
}

/** Counts turns of the event loop. */
function countTurns(t: TestContext): () => number {
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  t.after(() => clearImmediate(next));
  return () => turns;
}

function openHub(t: TestContext) {
  const hub = createHub({ onBackgroundError: assert.fail });
  t.after(hub.close);
  return hub;
}

describe('many subscribers', () => {
  it('read the same pages once while they catch up, and all of them get everything', async (t) => {
    const entries = entriesOf(9);
    const { log, reads } = createLog(entries);
    const hub = openHub(t);
    const received = Array.from({ length: subscribers }, () => [] as string[]);
    const batches = new Set<Batch>();
    for (const cursors of received)
      hub.subscribe(
        log,
        '-1',
        createConnection((batch) => {
          batches.add(batch);
          cursors.push(...batch.entries.map(({ cursor }) => cursor));
        }),
      );
    await until('all have everything', () => received.every((cursors) => cursors.length === 9));
    for (const cursors of received)
      assert.deepEqual(
        cursors,
        entries.map(({ cursor }) => cursor),
      );
    assert.ok(batches.size < subscribers, `${batches.size} batches`);
    assert.ok(reads() < subscribers, `${reads()} reads`);
    entries.push({ cursor: '9', data: 'x' });
    hub.notify([topic]);
    await until('all have the new one', () => received.every((cursors) => cursors.length === 10));
  });

  it('let other work have its turn while they catch up and while new entries are sent', async (t) => {
    const entries = entriesOf(10, entryChars);
    const { log } = createLog(entries);
    const hub = openHub(t);
    let [count, mostInTurn, inTurn, lastTurn] = [0, 0, 0, -1];
    const turns = countTurns(t);
    const receive = ({ entries: sent }: Batch) => {
      if (turns() !== lastTurn) [inTurn, lastTurn] = [0, turns()];
      count += sent.length;
      inTurn += sent.length;
      mostInTurn = Math.max(mostInTurn, inTurn);
    };
    for (let i = 0; i < subscribers; i++) hub.subscribe(log, '-1', createConnection(receive));
    await until('all have everything', () => count === 10 * subscribers);
    // A megabyte in one turn, and what is sent around its limits.
    assert.ok(mostInTurn < 100, `${mostInTurn} in a turn`);
    mostInTurn = 0;
    entries.push({ cursor: '10', data: 'x'.repeat(entryChars) });
    hub.notify([topic]);
    await until('all have the new one', () => count === 11 * subscribers);
    assert.ok(mostInTurn < 100, `${mostInTurn} in a turn`);
  });

  it('get unfinished texts from one serialization', async (t) => {
    const { log, write, isOpen } = createLog([]);
    const hub = openHub(t);
    const first: string[] = [];
    const show = ({ entries }: Batch<PartialText>) => entries.map(({ from, text }) => `${from}:${text}`);
    hub.subscribe(
      log,
      '-1',
      createConnection(
        () => assert.fail(),
        (batch) => first.push(...show(batch)),
      ),
    );
    await until('the texts are open', isOpen);
    write({ of: 'm', kind: 'message', from: 0, text: 'abc' });
    await until('it has the text', () => first.length === 1);
    const batches = new Set<Batch<PartialText>>();
    const texts: string[] = [];
    for (let i = 0; i < subscribers; i++)
      hub.subscribe(
        log,
        '-1',
        createConnection(
          () => assert.fail(),
          (batch) => {
            batches.add(batch);
            texts.push(...show(batch));
          },
        ),
      );
    await until('all have the text', () => texts.length === subscribers);
    assert.deepEqual([...new Set(texts)], ['0:abc']);
    assert.ok(batches.size < subscribers / 10, `${batches.size} batches`);
  });
});

describe('the pace', () => {
  it('has room for so many bytes in a turn, then releases those that wait in their order', async () => {
    const pace = createPace(10_000);
    const released: number[] = [];
    for (let i = 0; i < 6; i++) {
      const wait = pace.take(4_000);
      if (wait === undefined) released.push(i);
      else void wait.then(() => released.push(i));
    }
    // 4,000 bytes and what a write costs: two fit.
    assert.deepEqual(released, [0, 1]);
    await turn();
    assert.deepEqual(released, [0, 1, 2, 3]);
    await turn();
    assert.deepEqual(released, [0, 1, 2, 3, 4, 5]);
    await turn();
    assert.equal(pace.take(1), undefined);
  });

  it('lets one write be larger than a turn', async () => {
    const pace = createPace(10_000);
    assert.equal(pace.take(1_000_000), undefined);
    assert.notEqual(pace.take(1), undefined);
    await turn();
    assert.equal(pace.take(1), undefined);
  });
});
