// What readers see of an agent's text while it is written, in whatever pieces the agent sends it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createManualClock } from '../../../test/support/manualClock.ts';
import { createOpenTexts } from '../../events/decoder/openTexts.ts';
import { createRunPartials } from '../../events/partials/runPartials.ts';
import type { NewEvent } from '../../events/vocabulary/vocabulary.ts';
import { createMasking } from '../../runs/masking.ts';
import { createEventMapper } from './events.ts';

const secrets = ['s3cr3t-value', 'two lines\nof one secret', 'value-and-more'];

/** The secrets in pieces, and text around them. */
const piece = fc.oneof(
  fc.constantFrom(...secrets.flatMap((one) => [one, one.slice(0, 5), one.slice(5)])),
  fc.string({ maxLength: 6 }),
  fc.constantFrom('\n', ' ', '\ud83d', '\ude00'),
);
const update = fc.oneof(
  fc.record({ kind: fc.constantFrom('agent_message_chunk', 'agent_thought_chunk'), text: piece }),
  fc.record({ kind: fc.constantFrom('added', 'resent'), call: fc.constantFrom('a', 'b'), text: piece }),
  fc.record({ kind: fc.constant('ended'), call: fc.constantFrom('a', 'b'), text: piece }),
  fc.record({ kind: fc.constantFrom('flush', 'wait', 'turn') }),
);
type Update = typeof update extends fc.Arbitrary<infer Value> ? Value : never;

function toAcp(one: Update) {
  if (!('text' in one)) return undefined;
  const content = { type: 'text', text: one.text };
  if (!('call' in one)) return { sessionUpdate: one.kind, content };
  const call = {
    sessionUpdate: 'tool_call_update',
    toolCallId: one.call,
    kind: 'execute',
    status: 'in_progress',
  };
  if (one.kind === 'added') return { ...call, _meta: { terminal_output: { data: one.text } } };
  const blocks = { content: [{ type: 'content', content }] };
  return one.kind === 'resent' ? { ...call, ...blocks } : { ...call, ...blocks, status: 'completed' };
}

function follow(updates: readonly Update[], eventsPerTurnMax: number) {
  const clock = createManualClock();
  const masking = createMasking(secrets);
  const texts = createRunPartials({ clock });
  let count = 0;
  const mapper = createEventMapper({
    mask: masking.text,
    maskStream: masking.stream,
    live: { texts, nextId: () => `m${++count}` },
    eventsPerTurnMax,
  });
  const open = createOpenTexts();
  const seen: string[] = [];
  const events: NewEvent[] = [];
  texts.subscribe((partials) => {
    for (const partial of partials) open.add(partial);
    seen.push(...open.list().map(({ text }) => text));
  });
  const log = (fresh: readonly NewEvent[]) => {
    events.push(...fresh);
    for (const event of fresh) open.cover(event as Parameters<typeof open.cover>[0]);
  };
  for (const one of updates) {
    const acp = toAcp(one);
    if (acp !== undefined) log(mapper.take(acp));
    else if (one.kind === 'flush') log(mapper.flush());
    else if (one.kind === 'turn') log(mapper.end());
    else clock.advance(100);
  }
  clock.advance(1_000);
  const unfinished = open.list().map(({ text }) => text);
  const saidBefore = events.slice();
  log(mapper.end());
  clock.advance(1_000);
  return { seen, events, saidBefore, unfinished, left: open.list(), masking };
}

describe('text of an agent while it is written', () => {
  it('never contains a secret, and nothing of it is left after the turn', () => {
    fc.assert(
      fc.property(fc.array(update, { maxLength: 60 }), fc.constantFrom(3, 2_000), (updates, eventsMax) => {
        const { seen, left } = follow(updates, eventsMax);
        for (const text of seen) {
          for (const secret of secrets) assert.ok(!text.includes(secret), JSON.stringify(text));
          assert.ok(text.isWellFormed());
        }
        assert.deepEqual(left, []);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is the beginning of the masked message, and events and the rest are all of it', () => {
    const chunk = fc.record({ kind: fc.constant('agent_message_chunk' as const), text: piece });
    const other = fc.record({ kind: fc.constantFrom('flush' as const, 'wait' as const) });
    fc.assert(
      fc.property(fc.array(fc.oneof(chunk, other), { maxLength: 60 }), (updates) => {
        const { events, saidBefore, unfinished, masking } = follow(updates, 2_000);
        const raw = updates.map((one) => ('text' in one ? one.text : '')).join('');
        // Parts that are blank are not logged.
        const joined = (texts: readonly string[]) => texts.join('').replaceAll(/\s/g, '');
        const textsOf = (all: readonly NewEvent[]) => all.map(({ message }) => message);
        const whole = joined([masking.text(raw).toWellFormed()]);
        assert.equal(joined(textsOf(events)), whole);
        assert.ok(whole.startsWith(joined([...textsOf(saidBefore), ...unfinished])));
      }),
      { numRuns: 1_000 },
    );
  });
});
