// Partials and events of a log, as its subscribers receive them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import type { PartialText } from '../decoder/openTexts.ts';
import { createHub } from '../hub.ts';
import type { Entry, Log, Receiver } from '../receiver.ts';
import type { PartialListener } from './livePartials.ts';

const partial = (from: number, text: string): PartialText => ({ of: 'm', kind: 'message', from, text });
const message = (id: number, to: number): Entry => ({
  cursor: String(id),
  data: JSON.stringify({ id, action: 'message', args: {}, partial: { of: 'm', to } }),
});

/** A log in memory, with a source of partials that counts its subscriptions. */
function createSite() {
  const entries: Entry[] = [];
  const listeners = new Set<PartialListener>();
  let opened = 0;
  const log: Log = {
    topic: 'c1',
    read: async (cursor) => ({
      entries: entries.filter((one) => Number(one.cursor) > Number(cursor)),
      more: false,
    }),
    compare: (a, b) => Number(a) - Number(b),
    isGone: async () => false,
    openPartials: (listener) => {
      opened++;
      listeners.add(listener);
      return { onEvents: () => {}, close: () => void listeners.delete(listener) };
    },
  };
  const metrics = createMetrics();
  const hub = createHub({ onBackgroundError: assert.fail, metrics });
  const counted = () =>
    Object.fromEntries(metrics.partials.samples().map(({ labels, value }) => [labels[0], value]));
  return {
    hub,
    counted,
    log,
    opened: () => opened,
    listeners: () => listeners.size,
    send: (...partials: PartialText[]) => {
      for (const listener of listeners) listener.add(partials);
    },
    reset: () => {
      for (const listener of listeners) listener.reset();
    },
    append: (entry: Entry) => {
      entries.push(entry);
      hub.notify(['c1']);
    },
  };
}

/** A connection whose room a test decides. */
function createConnection(wantsPartials = true) {
  const received: string[] = [];
  let [hasRoom, drain, close] = [true, () => {}, () => {}];
  const receiver: Receiver = {
    receive: ({ entries }) => {
      received.push(...entries.map(({ cursor }) => `event ${cursor}`));
      return hasRoom;
    },
    ...(wantsPartials
      ? {
          receivePartials: ({ entries }) => {
            received.push(...entries.map(({ from, text }) => `${from}:${text}`));
            return hasRoom;
          },
        }
      : {}),
    beat: () => {},
    end: () => {},
    destroy: () => {},
    onDrain: (listener) => {
      drain = listener;
    },
    onClose: (listener) => {
      close = listener;
    },
  };
  return {
    receiver,
    received,
    setRoom: (room: boolean) => {
      hasRoom = room;
      if (room) drain();
    },
    close: () => close(),
  };
}

const has = (received: readonly string[], last: string) => until(last, () => received.includes(last));

describe('partials on a stream', () => {
  it('come from one subscription for all subscribers who want them, while there are any', async () => {
    const { hub, log, opened, listeners, send } = createSite();
    const [first, second, plain] = [createConnection(), createConnection(), createConnection(false)];
    hub.subscribe(log, '-1', plain.receiver);
    await until('it is there', () => hub.openLogs()[0]?.cursor !== undefined);
    assert.equal(opened(), 0);
    for (const { receiver } of [first, second]) hub.subscribe(log, '-1', receiver);
    await until('they are subscribed', () => listeners() === 1);
    send(partial(0, 'a'));
    await has(first.received, '0:a');
    await has(second.received, '0:a');
    const third = createConnection();
    hub.subscribe(log, '-1', third.receiver);
    await has(third.received, '0:a');
    assert.deepEqual([opened(), plain.received], [1, []]);
    for (const { close } of [first, second, third]) close();
    assert.equal(listeners(), 0);
    hub.close();
  });

  it('are cut or left out if their event was sent before them', async () => {
    const { hub, log, listeners, send, append } = createSite();
    const { receiver, received } = createConnection();
    hub.subscribe(log, '-1', receiver);
    await until('it is subscribed', () => listeners() === 1);
    send(partial(0, 'one '));
    await has(received, '0:one ');
    append(message(0, 8));
    await has(received, 'event 0');
    send(partial(4, 'two '));
    send(partial(4, 'two three'));
    await has(received, '8:three');
    assert.deepEqual(received, ['0:one ', 'event 0', '8:three']);
    hub.close();
  });

  it('are lost for a slow reader, who gets all events, and then the texts as they are', async () => {
    const { hub, log, listeners, send, append, counted } = createSite();
    const [slow, fast] = [createConnection(), createConnection()];
    for (const { receiver } of [slow, fast]) hub.subscribe(log, '-1', receiver);
    await until('they are subscribed', () => listeners() === 1);
    slow.setRoom(false);
    send(partial(0, 'a'));
    await has(fast.received, '0:a');
    for (const [i, text] of ['b', 'c', 'd'].entries()) {
      send(partial(i + 1, text));
      await has(fast.received, `${i + 1}:${text}`);
    }
    append(message(0, 2));
    await has(fast.received, 'event 0');
    assert.deepEqual(slow.received, ['0:a']);
    assert.deepEqual(counted(), { sent: 5, dropped: 3 });
    slow.setRoom(true);
    await has(slow.received, '2:cd');
    assert.deepEqual(slow.received, ['0:a', 'event 0', '2:cd']);
    hub.close();
  });

  it('are taken back when their run is gone', async () => {
    const { hub, log, listeners, send, reset } = createSite();
    const { receiver, received } = createConnection();
    hub.subscribe(log, '-1', receiver);
    await until('it is subscribed', () => listeners() === 1);
    send(partial(0, 'a'));
    await has(received, '0:a');
    reset();
    await has(received, '0:');
    const late = createConnection();
    hub.subscribe(log, '-1', late.receiver);
    send(partial(0, 'b'));
    await has(late.received, '0:b');
    assert.deepEqual(late.received, ['0:b']);
    hub.close();
  });
});
