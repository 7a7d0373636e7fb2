// The checker is judged by histories that are written by hand: a good one, and the same with one thing wrong.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { check } from './checker.ts';
import {
  agentMark,
  conversation,
  creation,
  events,
  forgetting,
  goodHistory,
  line,
  listing,
  log,
  message,
  operation,
  reading,
  said,
  secret,
  setting,
  told,
} from './goodHistory.ts';
import type { History, Operation } from './history.ts';

type Lines = History['workspaces'][number]['lines'];
const withLines = (change: (lines: Lines) => Lines): Partial<History> => ({
  workspaces: goodHistory().workspaces.map((one) => ({ ...one, lines: change(one.lines) })),
});
const withLog = (texts: readonly string[]): Partial<History> => ({
  conversations: [{ ...conversation, nextEvent: texts.length, events: events(texts) }],
});
const withOperations = (...more: readonly Operation[]): Partial<History> => ({
  operations: [...goodHistory().operations, ...more],
});
const withUser = (more: Partial<History['users'][number]>): Partial<History> => ({
  users: goodHistory().users.map((user) => ({ ...user, ...more })),
});

/** What is wrong, and the violation that it must be. */
const bad: Readonly<Record<string, readonly [string, Partial<History>]>> = {
  'an acknowledged conversation is gone': ['lost-creation', { conversations: [] }],
  'a creation exists twice': [
    'doubled-creation',
    { conversations: [conversation, { ...conversation, key: 2, id: 'c2' }] },
  ],
  'repetitions of a creation got different answers': [
    'different-answers',
    withOperations(creation({ answered: 'c2' })),
  ],
  'a refused creation exists': [
    'refused-but-done',
    {
      operations: [creation({ outcome: 'fail', status: 422, answered: null }), message()],
    },
  ],
  'a deleted conversation exists': [
    'undone-deletion',
    withOperations(operation({ kind: 'delete', conversation: 'c1' }, 50, 60)),
  ],
  'an acknowledged message is not in the log': ['lost-message', withLog(log.slice(0, 5))],
  'a message is in the log twice': ['doubled-message', withLog([...log, said('token-anna-1')])],
  'repetitions of a message got different answers': [
    'different-answers',
    withOperations(message({ answered: 4 })),
  ],
  'a refused message is in the log': [
    'refused-but-done',
    { operations: [creation(), message({ outcome: 'fail', status: 409 })] },
  ],
  'the log has a gap': [
    'event-gap',
    { conversations: [{ ...conversation, events: conversation.events.filter(({ id }) => id !== 3) }] },
  ],
  'the log is shorter than its counter': [
    'event-gap',
    { conversations: [{ ...conversation, nextEvent: log.length + 1 }] },
  ],
  'rows belong to nothing': ['stray-rows', { strays: 2 }],
  'a stream repeats an event': [
    'stream-order',
    {
      streams: goodHistory().streams.map((view) => ({ ...view, frames: view.frames.flatMap((f) => [f, f]) })),
    },
  ],
  'a stream leaves an event out': [
    'stream-order',
    { streams: goodHistory().streams.map((view) => ({ ...view, frames: view.frames.toSpliced(1, 1) })) },
  ],
  'a stream ends early': [
    'stream-short',
    { streams: goodHistory().streams.map((view) => ({ ...view, frames: view.frames.slice(0, -1) })) },
  ],
  'a webhook message never came': ['lost-webhook', { arrivals: goodHistory().arrivals.toSpliced(4, 1) }],
  'a status never came': ['lost-webhook', { arrivals: goodHistory().arrivals.slice(0, -1) }],
  'an event was sent under two ids': [
    'doubled-webhook',
    { arrivals: [...goodHistory().arrivals, { user: 'anna', id: 'msg_other', text: told(0) }] },
  ],
  'one webhook id has two texts': [
    'webhook-changed',
    { arrivals: [...goodHistory().arrivals, { user: 'anna', id: 'msg_0', text: told(1) }] },
  ],
  'a webhook message is due in hours': ['late-webhook', { overdueDeliveries: ['due in two hours'] }],
  'an acknowledged setting is lost': ['settings-order', withUser({ settings: { email: 'one' } })],
  'a setting that was overwritten is read': ['settings-order', withOperations(reading('one', 60, 70))],
  'a setting is read before it is written': ['settings-order', withOperations(reading('two', 12, 15))],
  'a setting is read that nobody wrote': ['settings-phantom', withOperations(reading('three', 60, 70))],
  'a refused setting is read': [
    'refused-but-done',
    withOperations(setting('three', 60, 70, { outcome: 'fail', status: 412 }), reading('three', 80, 90)),
  ],
  'the answer to a write shows an older value': [
    'settings-order',
    {
      ...withOperations(setting('three', 60, 70, { seen: 'one' })),
      ...withUser({ version: 4, settings: { email: 'three' } }),
    },
  ],
  'fewer versions than acknowledged writes': ['settings-version', withUser({ version: 2 })],
  'more versions than writes': ['settings-version', withUser({ version: 4 })],
  'two writes were acknowledged for one version': [
    'settings-lost-race',
    {
      ...withOperations(setting('three', 60, 70, { base: 3 }), setting('four', 60, 70, { base: 3 })),
      ...withUser({ version: 5, settings: { email: 'four' } }),
    },
  ],
  'an acknowledged secret is lost': ['secrets-order', withUser({ secrets: {} })],
  'a deleted secret comes back': [
    'secrets-order',
    { ...withOperations(forgetting(40, 50)), ...withUser({ version: 4 }) },
  ],
  'an overwritten secret is read': [
    'secrets-order',
    {
      ...withOperations(secret('second', 40, 50), listing({ ALPHA: 'first' }, 60, 70)),
      ...withUser({ version: 4, secrets: { ALPHA: 'second' } }),
    },
  ],
  'a secret is read that nobody wrote': ['secrets-phantom', withUser({ secrets: { ALPHA: 'other' } })],
  'two agents lived at once': ['overlapping-runs', withLines((lines) => [...lines, line('aa', 6, 'beat')])],
  'a lost run still wrote': ['lost-run-wrote', withLog([...log, agentMark('aa', 3)])],
  'a step was recorded twice': [
    'agent-event-doubled',
    withLog([...log.slice(0, 4), agentMark('aa', 2), ...log.slice(4)]),
  ],
  'a step was left out': ['agent-event-lost', withLog(log.toSpliced(2, 1))],
  'a message never reached the agent': ['undelivered-message', withLines((lines) => lines.slice(0, 4))],
  'a message reached the agent twice as if it were new': [
    'doubled-delivery',
    withLines((lines) => [...lines, line('bb', 6, 'prompt', 'token-anna-1')]),
  ],
  'a conversation is stuck in a turn': [
    'stuck-conversation',
    { conversations: [{ ...conversation, turnOpen: true }] },
  ],
  'a conversation never started': [
    'stuck-conversation',
    { conversations: [{ ...conversation, status: 'STARTING' }] },
  ],
  'a conversation has not heard a message': [
    'stuck-conversation',
    { conversations: [{ ...conversation, heard: 5 }] },
  ],
  'a conversation failed': [
    'failed-conversation',
    { conversations: [{ ...conversation, status: 'STOPPED', runId: null, stopCode: 'agent_error' }] },
  ],
  'an answer held data of somebody else': [
    'foreign-data',
    withOperations(operation({ kind: 'peek', conversation: 'x', found: false, owners: ['bert'] }, 0, 1)),
  ],
  'a user could read the conversation of another': [
    'foreign-data',
    withOperations(operation({ kind: 'peek', conversation: 'x', found: true }, 0, 1)),
  ],
  'a webhook message held data of somebody else': [
    'foreign-data',
    {
      arrivals: goodHistory().arrivals.map((one) => ({ ...one, user: 'bert' })),
      conversations: [{ ...conversation, user: 'bert' }],
    },
  ],
  'a process ended by itself': [
    'unexpected-exit',
    { exits: [{ process: 'all', atMs: 5, code: 1, signal: null, cause: undefined, lastWords: 'oh' }] },
  ],
  'a request was answered with 500': [
    'internal-error',
    withOperations(
      reading('two', 60, 70),
      operation({ kind: 'stop', conversation: 'c1', status: 500, outcome: 'unknown' }, 0, 1),
    ),
  ],
  'a process was left behind': ['left-behind', { leftBehind: ['process 1'] }],
};

const kindsOf = (history: History) => [...new Set(check(history).violations.map(({ kind }) => kind))];

describe('the checker of chaos runs', () => {
  it('finds nothing in a good history, and says how much it looked at', () => {
    const { violations, checks, messages } = check(goodHistory());
    assert.deepEqual(violations, []);
    assert.ok(checks > 50, `${checks} checks`);
    assert.equal(messages, 2);
  });

  for (const [what, [kind, wrong]] of Object.entries(bad))
    it(`reports ${kind} where ${what}`, () => {
      const kinds = kindsOf({ ...goodHistory(), ...wrong });
      assert.ok(kinds.includes(kind), `it reports ${kinds.join(', ') || 'nothing'}`);
    });

  it('allows an undecided write to take effect or not, however late', () => {
    const undecided = setting('three', 32, 35, { outcome: 'unknown', status: null });
    for (const [final, version] of [
      ['two', 3],
      ['three', 4],
    ] as const)
      assert.deepEqual(
        kindsOf({
          ...goodHistory(),
          ...withOperations(undecided),
          ...withUser({ version, settings: { email: final } }),
        }),
        [],
      );
  });

  it('allows an undecided creation or message to exist or not', () => {
    const operations = [creation({ outcome: 'unknown', answered: null }), message({ outcome: 'unknown' })];
    const history = { ...goodHistory(), operations: [...operations, ...goodHistory().operations.slice(2)] };
    assert.deepEqual(kindsOf(history), []);
    const nothing = { ...history, conversations: [], workspaces: [], streams: [], arrivals: [] };
    assert.deepEqual(kindsOf(nothing), []);
  });

  it('allows a read of another process to be a little old on PostgreSQL, and not much', () => {
    const old = (fromMs: number) => ({
      ...goodHistory(),
      database: 'postgres' as const,
      ...withOperations(reading('one', fromMs, fromMs + 5)),
    });
    assert.deepEqual(kindsOf(old(1_000)), []);
    assert.deepEqual(kindsOf(old(5_000)), ['settings-order']);
  });

  it('does not ask for messages that their user stopped before the agent could get them', () => {
    const stopped = { ...conversation, status: 'STOPPED', stopCode: 'user', runId: null };
    const history = {
      ...goodHistory(),
      conversations: [stopped],
      workspaces: goodHistory().workspaces.map((one) => ({ ...one, lines: one.lines.slice(0, 4) })),
    };
    assert.ok(!kindsOf(history).includes('undelivered-message'));
  });

  it('allows a conversation to be given up after as many lost workers as the documents say, and not sooner', () => {
    const text = JSON.stringify({
      extras: { reason: 'It was begun 5 times, and each time its worker was lost.' },
    });
    const stopped = { ...conversation, status: 'STOPPED', stopCode: 'agent_error', runId: null };
    const conversations = [{ ...stopped, nextEvent: log.length + 1, events: events([...log, text]) }];
    const kills = (count: number) =>
      Array.from({ length: count }, () => ({ name: 'kill', target: 'all', fromMs: 0, toMs: 1 }));
    const failedAfter = (count: number) =>
      kindsOf({ ...goodHistory(), conversations, faults: kills(count) }).includes('failed-conversation');
    assert.deepEqual([failedAfter(4), failedAfter(5)], [true, false]);
  });

  it('allows what is marked as repeated to reach the agent again', () => {
    const marked = [
      'You were interrupted.\n> token-anna-1',
      'You were stopped.\n> token-anna-1',
      '<history>\ntoken-anna-1\n</history>',
    ];
    const prompts = marked.map((text, i) => line('bb', 6 + i, 'prompt', text));
    assert.deepEqual(kindsOf({ ...goodHistory(), ...withLines((lines) => [...lines, ...prompts]) }), []);
  });

  it('takes no token for another that begins with it', () => {
    const longer = line('bb', 6, 'prompt', 'token-anna-10');
    assert.deepEqual(kindsOf({ ...goodHistory(), ...withLines((lines) => [...lines, longer]) }), []);
    const instead = withLines((lines) =>
      lines.map((one) => ({ ...one, ...(one.text === undefined ? {} : { text: `${one.text}0` }) })),
    );
    assert.ok(kindsOf({ ...goodHistory(), ...instead }).includes('undelivered-message'));
  });
});
