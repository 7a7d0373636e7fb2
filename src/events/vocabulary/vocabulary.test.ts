import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { vocabularyFault } from '../../../test/support/vocabulary.ts';
import type { ParleyEvent } from '../../client/parley.ts';
import { compileCheck } from '../../validation/validation.ts';
import { type DecodedEvent, decodeEvent } from '../decoded.ts';
import { actionFields, decode, observationFields } from '../decoder/decode.ts';
import { eventsExample } from '../examples.ts';
import { EventsPage } from '../schema.ts';
import { actions, observations } from './vocabulary.ts';

type Json = Record<string, unknown>;

/** The examples of the documentation. */
const documented = [
  ...readFileSync(new URL('../../../docs/events.md', import.meta.url), 'utf8').matchAll(
    /```json\n(.*?)```/gs,
  ),
].flatMap(([, text = '']) => text.split(/\n(?=\{)/).map((one) => JSON.parse(one) as Json));

function fieldsOf(schema: TSchema, part: 'args' | 'extras'): string[] {
  const { properties } = schema as unknown as Record<string, Record<string, { properties: object }>>;
  return Object.keys(properties?.[part]?.properties ?? {});
}

describe('the vocabulary of events', () => {
  it('contains every example of the documentation, and has an example of each type', () => {
    for (const event of documented) assert.equal(vocabularyFault(event), undefined, JSON.stringify(event));
    const named = (kind: string) => new Set(documented.map((event) => event[kind]).filter(Boolean));
    assert.deepEqual(named('action'), new Set(Object.keys(actions)));
    assert.deepEqual(named('observation'), new Set(Object.keys(observations)));
  });

  it('has the same fields as the decoder', () => {
    const namesOf = (table: Readonly<Record<string, object>>) =>
      Object.fromEntries(Object.entries(table).map(([name, fields]) => [name, Object.keys(fields).sort()]));
    const declared = (schemas: Readonly<Record<string, TSchema>>, part: 'args' | 'extras') =>
      Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [name, fieldsOf(schema, part).sort()]),
      );
    assert.deepEqual(namesOf(actionFields), declared(actions, 'args'));
    assert.deepEqual(namesOf(observationFields), declared(observations, 'extras'));
  });

  it('has a schema that accepts imported events, too', () => {
    const check = compileCheck(EventsPage);
    const page = (event: object) => ({ events: [event], has_more: false });
    const head = { id: 0, timestamp: '', source: 'agent', message: '' };
    assert.equal(check(eventsExample), undefined);
    for (const event of documented) assert.equal(check(page(event)), undefined);
    assert.equal(check(page({ ...head, action: 'from_elsewhere', more: [1] })), undefined);
    assert.equal(check(page({ ...head, action: 'run', args: { code: 1 } })), undefined);
    assert.notEqual(check(page({ id: 'x' })), undefined);
  });
});

describe('the decoder of events', () => {
  it('adds the type, and changes nothing else of a known event', () => {
    for (const event of documented) {
      const name = event['action'] === undefined ? 'observation' : 'action';
      assert.deepEqual(decodeEvent(event), { ...event, type: `${name}.${event[name]}` });
    }
  });

  it('replaces fields of another type with their default, and leaves out optional ones', () => {
    const head = { id: 3, timestamp: '', source: 'environment', message: '' };
    const cases: [object, object][] = [
      [
        { id: 3, action: 'run', args: { command: 5, security_risk: 'x', diff: 1, other: 7 } },
        { ...head, action: 'run', args: { command: '', thought: '', other: 7 }, tool_call_id: '' },
      ],
      [
        { id: 3, observation: 'run', content: { a: 1 }, extras: { metadata: [], outcome: 'odd' }, cause: -1 },
        {
          ...head,
          observation: 'run',
          content: '{"a":1}',
          extras: { command: '', metadata: {}, outcome: 'completed' },
          tool_call_id: '',
        },
      ],
      [
        { id: 3, action: 'change_agent_state', args: { agent_state: 'user_rejected' } },
        { ...head, action: 'change_agent_state', args: { agent_state: 'user_rejected', decision: 'reject' } },
      ],
    ];
    for (const [event, decoded] of cases) {
      const { type: _, ...rest } = decodeEvent(event);
      assert.deepEqual(rest, decoded);
    }
  });

  it('reads what earlier versions wrote', () => {
    const about = { name: 'Search', kind: 'search', arguments: { word: 'x' } };
    const action = decodeEvent({ id: 1, action: 'call_tool', args: { ...about, thought: '' } });
    assert.ok(action.type === 'action.call_tool_mcp' && action.args.kind === 'search');
    const result = decodeEvent({ id: 2, observation: 'call_tool', extras: { ...about, outcome: 'failed' } });
    assert.ok(result.type === 'observation.mcp' && result.extras.outcome === 'failed');
    const edit = decodeEvent({ observation: 'edit', extras: { path: 'a', operation: 'move' } });
    assert.ok(edit.type === 'observation.edit' && edit.extras.diff === '');
  });

  it('returns an unknown event for an unknown name or state', () => {
    for (const event of [
      { action: 'from_the_future', args: [] },
      { observation: '__proto__' },
      { action: 'constructor' },
      { observation: 'agent_state_changed', extras: { agent_state: 'odd' } },
      { action: 'change_agent_state', args: { agent_state: 'paused' } },
      { action: {}, observation: [] },
      null,
      'text',
    ])
      assert.equal(decodeEvent(event).type, 'unknown', JSON.stringify(event));
    const { action, args } = decodeEvent({ action: 'write', args: { path: 'a' } }) as Json;
    assert.deepEqual([action, args], ['write', { path: 'a' }]);
  });

  it('never throws, and returns only events of the vocabulary or unknown ones', () => {
    const names = fc.constantFrom(...Object.keys(actions), ...Object.keys(observations), 'call_tool');
    const fields = fc.dictionary(
      fc.oneof(
        fc.constantFrom(...Object.values({ ...actionFields, ...observationFields }).flatMap(Object.keys)),
        fc.string(),
      ),
      fc.jsonValue(),
    );
    const event = fc.record(
      {
        id: fc.jsonValue(),
        timestamp: fc.jsonValue(),
        source: fc.jsonValue(),
        message: fc.jsonValue(),
        action: fc.oneof(names, fc.jsonValue()),
        observation: fc.oneof(names, fc.jsonValue()),
        args: fc.oneof(fields, fc.jsonValue()),
        extras: fc.oneof(fields, fc.jsonValue()),
        content: fc.jsonValue(),
        tool_call_id: fc.jsonValue(),
        cause: fc.jsonValue(),
        replayed: fc.jsonValue(),
        llm_metrics: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(event, fc.jsonValue(), fc.anything()), (value) => {
        const decoded = decode(value);
        // Fields that the schema does not name are kept, too.
        if (decoded.type !== 'unknown') assert.equal(vocabularyFault(known(decoded)), undefined);
      }),
      { numRuns: 2_000 },
    );
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    assert.equal(decodeEvent({ action: 'message', args: deep, message: deep }).type, 'action.message');
  });

  it('narrows to the fields of the type', () => {
    const event = decodeEvent(documented.find(({ action }) => action === 'run'));
    if (event.type !== 'action.run') assert.fail();
    const command: string = event.args.command;
    // @ts-expect-error an action has no content
    assert.deepEqual([command, event.content], ['npm test', undefined]);
    // @ts-expect-error and a command has no path
    assert.equal(event.args.path, undefined);
    // The types of the client and the service are the same.
    const ofClient: ParleyEvent = event as DecodedEvent;
    const ofService: DecodedEvent = ofClient as ParleyEvent;
    assert.equal(ofService.type, 'action.run');
  });
});

/** Reduces the event to the fields that its schema names. */
function known({ type, ...event }: Json): Json {
  const [kind, name = ''] = String(type).split('.');
  const [schemas, part] =
    kind === 'action' ? ([actions, 'args'] as const) : ([observations, 'extras'] as const);
  const schema = (schemas as Readonly<Record<string, TSchema>>)[name] as TSchema;
  const { properties } = schema as unknown as { properties: Readonly<Record<string, object>> };
  const pick = (from: Json, names: readonly string[]) =>
    Object.fromEntries(names.flatMap((one) => (Object.hasOwn(from, one) ? [[one, from[one]]] : [])));
  const details = pick(event[part] as Json, fieldsOf(schema, part));
  const shown = pick(event, Object.keys(properties));
  // Numbers and times of imported events may be out of range, which the decoder does not check.
  const head = { id: Math.max(0, Number(event['id'])), timestamp: '2026-01-31T12:00:00.000Z' };
  return { ...shown, ...head, [part]: withoutStrangers(details) };
}

function withoutStrangers(details: Json): Json {
  const { metadata, task_list: tasks, cost, ...rest } = details;
  const { exit_code: code } = (metadata ?? {}) as Json;
  return {
    ...rest,
    ...(metadata === undefined ? {} : { metadata: code === undefined ? {} : { exit_code: code } }),
    ...(Array.isArray(tasks)
      ? { task_list: (tasks as Json[]).map(({ id, title, status, notes }) => ({ id, title, status, notes })) }
      : {}),
    ...(cost === undefined
      ? {}
      : {
          cost:
            cost === null ? null : { amount: (cost as Json)['amount'], currency: (cost as Json)['currency'] },
        }),
  };
}
