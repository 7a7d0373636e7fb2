// Whatever an agent sends, the mapper never throws, and its events are bounded, well-formed JSON.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { anyEvents } from '../../../test/support/anyEvent.ts';
import { eventText } from '../../events/shapes.ts';
import type { NewEvent } from '../../events/vocabulary/vocabulary.ts';
import { createMasking } from '../../runs/masking.ts';
import { createEventMapper, type EventMapper } from './events.ts';
import type { Params } from './peer.ts';
import { chooseAnswer, riskOf, toConfirmation } from './permissions.ts';
import type { SessionUpdate } from './update.ts';

/** Each text may have 64 KiB, an event has a few texts, and JSON may need six bytes for one. */
const eventBytesMax = 2 * 1_024 * 1_024;
const eventsPerTurnMax = 50;
const at = '2026-01-01T00:00:00.000Z';
const secret = 'hunter2-hunter2';

const names = [
  ...['sessionUpdate', 'toolCallId', 'title', 'name', 'kind', 'status', 'content', 'rawInput', 'rawOutput'],
  ...['locations', 'path', 'type', 'text', 'uri', 'resource', 'oldText', 'newText', 'entries', 'messageId'],
  ...['command', 'cmd', 'url', 'used', 'size', 'cost', 'amount', 'currency', 'metadata', 'exit', 'exit_code'],
  ...['exitCode', '_meta', 'mimeType', 'file_path', 'output', 'stdout', 'error', secret, '\ud800', ''],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'toJSON', 'length', 'then'],
];
const words = [
  ...['tool_call', 'tool_call_update', 'agent_message_chunk', 'agent_thought_chunk', 'plan', 'usage_update'],
  ...['session_info_update', 'current_mode_update', 'content', 'text', 'diff', 'image', 'resource'],
  ...['resource_link', 'pending', 'in_progress', 'completed', 'failed', 'execute', 'edit', 'read', 'fetch'],
  ...['mcp__server__tool', 'c1', 'c2', `a ${secret} b`, '\ud800', '\udc00\ud800', '\u0000', '\n', '`'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'],
];

const name = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, fc.string({ unit: 'binary' }));
const text = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...words) },
  fc.string({ unit: 'binary' }),
  fc.tuple(fc.constantFrom(...words), fc.integer({ min: 1, max: 30_000 })).map(([one, n]) => one.repeat(n)),
);
const number = fc.oneof(
  fc.constantFrom(0, -1, 1e308, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER + 2, -0, 5e-324),
  fc.double(),
);

function nest(levels: number, inObjects: boolean): unknown {
  let value: unknown = 'x';
  for (let i = 0; i < levels; i++) value = inObjects ? { content: value } : [value];
  return value;
}
const deep = fc
  .tuple(fc.integer({ min: 1, max: 20_000 }), fc.boolean())
  .map(([levels, inObjects]) => nest(levels, inObjects));

function entriesOf(pairs: readonly (readonly [string, unknown])[]): Params {
  // A JSON parser treats the key `__proto__` like any other.
  return Object.fromEntries(pairs);
}

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(text, number, fc.constantFrom(null, true, false)),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 8 }).map(entriesOf),
    { weight: 1, arbitrary: fc.oneof({ weight: 20, arbitrary: text }, deep) },
    fc.array(fc.constant({}), { minLength: 0, maxLength: 500 }),
  ),
}));

/** Objects that cannot be converted to text or a number, and other values that are worse than random ones. */
const hostile = fc.oneof(
  fc.constantFrom<unknown>({ toString: 1, valueOf: 1 }, { toJSON: 1 }, { length: -1 }, []),
  deep,
  value,
);
/** Mostly valid, because completely invalid updates are ignored early. */
const or = <Good>(good: fc.Arbitrary<Good>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 3, arbitrary: good }, hostile);

const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text: or(text) }),
  fc.record({ type: fc.constant('resource_link'), name: or(text), uri: or(text) }),
  fc.record({ type: fc.constant('resource'), resource: or(fc.record({ uri: or(text), text: or(text) })) }),
  fc.record({ type: fc.constantFrom('image', 'audio'), mimeType: or(text) }),
);
const diff = fc.record({ type: fc.constant('diff'), path: or(text), oldText: or(text), newText: or(text) });
const part = fc.oneof(fc.record({ type: fc.constant('content'), content: or(block) }), diff);
const input = fc.oneof(
  fc.record({ command: or(fc.array(or(text), { maxLength: 4 })) }),
  fc.record({ url: or(text), path: or(text) }),
);
const known = fc.record(
  {
    sessionUpdate: fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...words.slice(0, 6)) }, text),
    toolCallId: or(fc.constantFrom('c1', 'c2', 'c3', 'c4', 'c5', 'c6')),
    kind: or(fc.constantFrom('execute', 'execute', 'edit', 'read', 'fetch', 'delete', 'other')),
    status: or(fc.constantFrom('pending', 'pending', 'in_progress', 'completed', 'failed')),
    title: or(text),
    rawInput: or(input),
    rawOutput: or(fc.record({ exitCode: or(fc.integer()), output: or(text) })),
    locations: or(fc.array(or(fc.record({ path: or(text) })), { maxLength: 2 })),
    content: or(fc.oneof(block, fc.array(or(part), { maxLength: 4 }))),
    entries: or(fc.array(or(fc.record({ content: or(text), status: or(text) })), { maxLength: 4 })),
    cost: or(fc.record({ amount: or(number), currency: or(text) })),
    used: or(number),
  },
  { requiredKeys: ['sessionUpdate', 'toolCallId'] },
);

const update: fc.Arbitrary<SessionUpdate> = fc
  .tuple(known, fc.array(fc.tuple(name, value), { maxLength: 2 }))
  .map(([one, pairs]) => ({ ...one, ...entriesOf(pairs), sessionUpdate: one.sessionUpdate }));

type Act = (mapper: EventMapper) => readonly NewEvent[];

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 10,
    arbitrary: update.map(
      (one): Act =>
        (mapper) =>
          mapper.take(one),
    ),
  },
  fc.constant<Act>((mapper) => mapper.flush()),
  fc.constant<Act>((mapper) => mapper.end()),
  update.map(
    (one): Act =>
      (mapper) => {
        const toolCall = { ...one, toolCallId: 'c1' };
        mapper.approval(toolCall);
        const risk = riskOf(one['kind'] ?? mapper.kindOf('c1'));
        chooseAnswer({ options: [] }, 'allow');
        return mapper.announceCall(toolCall, toConfirmation('ask', risk));
      },
  ),
);

function assertWellFormed(one: unknown): void {
  if (typeof one === 'string') assert.ok(one.isWellFormed(), 'a lone surrogate');
  if (typeof one !== 'object' || one === null) return;
  for (const [key, item] of Object.entries(one)) {
    assertWellFormed(key);
    assertWellFormed(item);
  }
}

describe('the mapping of hostile updates', () => {
  it('never throws, and returns bounded, well-formed events', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
        const masking = createMasking([secret]);
        const mapper = createEventMapper({ mask: masking.text, mcpServers: ['server'], eventsPerTurnMax });
        const events = [...acts, (last: EventMapper) => last.end()].map((one) => one(mapper));
        for (const event of events.flat()) {
          const json = eventText(masking.event(event), at);
          assert.ok(Buffer.byteLength(json) <= eventBytesMax, `${Buffer.byteLength(json)} bytes`);
          assert.ok(!json.includes(secret), 'a secret');
          const read: unknown = JSON.parse(json);
          assertWellFormed(read);
          assert.equal(typeof (read as NewEvent).message, 'string');
        }
      }),
      { numRuns: 400 },
    );
  });

  it('handles a command whose parts cannot be converted to text', () => {
    const mapper = createEventMapper();
    const rawInput = { command: ['rm', { toString: 1, valueOf: 1 }] };
    mapper.take({ sessionUpdate: 'tool_call', toolCallId: 'c1', kind: 'execute', rawInput });
    const [action] = anyEvents(mapper.flush());
    assert.deepEqual(action?.args, { command: 'rm {"toString":1,"valueOf":1}', thought: '' });
  });

  it('treats names of inherited properties as unknown words', () => {
    const mapper = createEventMapper();
    const [other] = anyEvents(mapper.take({ sessionUpdate: 'constructor' }));
    assert.equal(other?.observation, 'agent_update');
    const entries = [{ content: 'x', status: 'toString' }];
    const [plan] = anyEvents(mapper.take({ sessionUpdate: 'plan', entries }));
    assert.deepEqual(plan?.args, {
      command: 'plan',
      task_list: [{ id: '1', title: 'x', status: 'todo', notes: '' }],
    });
  });

  it('does not compare files of a million lines, and marks them as cut', () => {
    const mapper = createEventMapper();
    const content = [
      { type: 'diff', path: 'a', oldText: 'a\n'.repeat(1_000_000), newText: 'b\n'.repeat(1_000_000) },
      { type: 'diff', path: 'b', oldText: 'a\n', newText: 'b\n' },
    ];
    assert.ok('fault' in mapper.approval({ toolCallId: 'c1', kind: 'edit', content }));
    mapper.take({ sessionUpdate: 'tool_call', toolCallId: 'c1', kind: 'edit', content });
    const [action] = anyEvents(mapper.flush());
    assert.match(String(action?.args?.['diff']), /^--- a\n\+\+\+ a\n-a\n-a\n.*bytes were cut here/s);
  });
});
