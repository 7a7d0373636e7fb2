// The order of partials and events on one stream, and what is kept of texts that are long or sent again.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createManualClock } from '../../../test/support/manualClock.ts';
import { createOpenTexts, type PartialText } from '../decoder/openTexts.ts';
import { mergePartials } from './channelPartials.ts';
import { createReaderPartials } from './readerPartials.ts';
import { createRunPartials } from './runPartials.ts';

const entryOf = (event: object) => ({ cursor: '0', data: JSON.stringify(event) });

/** A reader of a stream: the events it has, and what it shows beside them. */
function createReader() {
  const open = createOpenTexts();
  return {
    receive: (partials: readonly PartialText[]) => {
      for (const partial of partials) open.add(partial);
    },
    event: (event: object) => open.cover(event as Parameters<typeof open.cover>[0]),
    text: () =>
      open
        .list()
        .map(({ text }) => text)
        .join(''),
    open,
  };
}

describe('a run', () => {
  it('sends its first text at once, and what follows together', () => {
    const clock = createManualClock();
    const texts = createRunPartials({ clock });
    const sent: PartialText[][] = [];
    texts.subscribe((partials) => sent.push([...partials]));
    sent.length = 0;
    clock.advance(100);
    for (const text of ['a', 'b', 'c']) texts.append('message', 'm', text);
    assert.deepEqual(sent, [[{ of: 'm', kind: 'message', from: 0, text: 'a' }]]);
    clock.advance(50);
    assert.deepEqual(sent.at(-1), [{ of: 'm', kind: 'message', from: 1, text: 'bc' }]);
    clock.advance(1_000);
    assert.equal(sent.length, 2);
  });

  it('sends a new text when what it has done before is in the log', async () => {
    const clock = createManualClock();
    const recorded = Promise.withResolvers<void>();
    let pending: Promise<void> | undefined = recorded.promise;
    const texts = createRunPartials({ clock, recordPending: () => pending });
    const reader = createReader();
    texts.subscribe(reader.receive);
    texts.append('message', 'm', 'early');
    texts.append('output', 'call', 'printed ');
    clock.advance(1_000);
    assert.equal(reader.text(), 'printed ', 'the output of a call does not wait');
    const late = createReader();
    texts.subscribe(late.receive);
    assert.equal(late.text(), 'printed ');
    pending = undefined;
    recorded.resolve();
    await recorded.promise;
    clock.advance(1_000);
    texts.append('message', 'm', ' text');
    clock.advance(1_000);
    assert.equal(reader.text(), 'printed early text');
    assert.equal(late.text(), 'printed early text');
  });

  it('sends a bounded amount of enormous output, and keeps only its end', () => {
    const clock = createManualClock();
    const texts = createRunPartials({ clock });
    const reader = createReader();
    let chars = 0;
    texts.subscribe((partials) => {
      chars += partials.reduce((sum, { text }) => sum + text.length, 0);
      reader.receive(partials);
    });
    const piece = `${'x'.repeat(999)}\n`;
    for (let i = 0; i < 20_000; i++) {
      for (let call = 0; call < 20; call++) texts.append('output', `call ${call}`, piece);
      clock.advance(1);
    }
    texts.append('output', 'call 0', 'the end');
    clock.advance(2_000);
    const { text = '' } = reader.open.list().find(({ of }) => of === 'call 0') ?? {};
    assert.ok(text.endsWith('the end'));
    assert.equal(reader.open.list().length, 16);
    // 20 seconds of 20 MB each: at most half a million characters a second are sent.
    assert.ok(chars < 25 * 524_288, String(chars));
    let kept = 0;
    texts.subscribe((partials) => {
      kept += partials.reduce((sum, one) => sum + one.text.length, 0);
    });
    assert.ok(kept <= 16 * 32 * 1_024, String(kept));
  });

  it('replaces output that is sent again and has changed', () => {
    const clock = createManualClock();
    const texts = createRunPartials({ clock });
    const reader = createReader();
    texts.subscribe(reader.receive);
    for (const whole of ['10 %', '10 %\n20 %', 'done']) {
      texts.replaceOutput('call', () => whole);
      clock.advance(100);
      assert.equal(reader.text(), whole);
    }
  });
});

/** What a run does, in its order: text, an event with a part of it, or the end of the message. */
const step = fc.oneof(
  fc.record({ do: fc.constant('write' as const), text: fc.string({ minLength: 1, maxLength: 5 }) }),
  fc.record({ do: fc.constant('part' as const) }),
  fc.record({ do: fc.constant('end' as const) }),
  fc.record({ do: fc.constant('tick' as const) }),
);

describe('subscribers', () => {
  it('miss nothing and see nothing twice, however late partials or events are', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.infiniteStream(fc.boolean()), (steps, coins) => {
        const clock = createManualClock();
        const run = createRunPartials({ clock });
        const [partials, events]: [PartialText[][], object[]] = [[], []];
        run.subscribe((sent) => partials.push([...sent]));
        const relay = createReaderPartials();
        const reader = createReader();
        let [message, from, length, written, logged] = [0, 0, 0, '', ''];
        const log = (isEnd: boolean) => {
          if (length > from)
            events.push({ action: 'message', partial: { of: `m${message}`, to: length }, text: written });
          if (isEnd) run.end('message', `m${message}`);
          else run.cover(`m${message}`, length);
          [from, written] = [length, ''];
        };
        const deliverPartials = () => reader.receive(mergePartials(relay.add(partials.shift() ?? [])));
        const deliverEvent = () => {
          const event = events.shift() as { text?: string } | undefined;
          if (event === undefined) return;
          relay.cover([entryOf(event)]);
          reader.event(event);
          logged += event.text;
        };
        for (const one of steps) {
          if (one.do === 'write') {
            run.append('message', `m${message}`, one.text);
            length += one.text.length;
            written += one.text;
          } else if (one.do === 'tick') clock.advance(100);
          else {
            log(one.do === 'end');
            if (one.do === 'end') [message, from, length] = [message + 1, 0, 0];
          }
          // Both come in their own order, and either may be late.
          const [first, second] = [coins.next().value, coins.next().value];
          if (first) deliverPartials();
          if (second) deliverEvent();
        }
        clock.advance(1_000);
        while (partials.length > 0) deliverPartials();
        while (events.length > 0) deliverEvent();
        assert.equal(reader.text(), written);
        const all = steps.flatMap((one) => (one.do === 'write' ? [one.text] : [])).join('');
        assert.equal(logged + reader.text(), all);
      }),
      { numRuns: 2_000 },
    );
  });

  it('get no output of a call after its observation, and of another run with the same ids', () => {
    const texts = createReaderPartials();
    const output = (text: string) => [{ of: 'call', kind: 'output' as const, from: 0, text }];
    assert.equal(texts.add(output('a')).length, 1);
    texts.cover([entryOf({ observation: 'run', tool_call_id: 'call', extras: { command: '' } })]);
    assert.deepEqual([texts.add(output('late')), texts.list()], [[], []]);
    texts.reset();
    assert.equal(texts.add(output('b')).length, 1);
    assert.deepEqual(texts.reset(), [{ of: 'call', kind: 'output', from: 0, text: '' }]);
    // An imported event ends nothing.
    texts.add(output('c'));
    texts.cover([entryOf({ observation: 'run', tool_call_id: 'call', replayed: true, extras: {} })]);
    assert.equal(texts.list().length, 1);
  });
});
