import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type AnyEvent, parseText } from '../../../test/support/anyEvent.ts';
import { createStorage, databaseKinds } from '../../../test/support/databases.ts';
import { type Runs, type RunsOptions, startRuns, type TestEvent } from '../../../test/support/runs.ts';
import { approvalRequest, ending, errorsAndNotices, statesOf } from '../../../test/support/runTalk.ts';
import { openStream } from '../../../test/support/stream.ts';
import { until } from '../../../test/support/until.ts';
import { createEventMapper } from '../../agents/acp/events.ts';
import type { Decision } from '../../events/decoder/words.ts';
import type { RunStep } from '../claimedRun.ts';
import { createMasking } from '../masking.ts';
import type { UserAnswer } from '../prompts/inbox.ts';
import { createRecorder } from '../recorder.ts';
import { createRunFaults } from '../runFaults.ts';
import { createActionGuard } from './actionGuard.ts';
import { createApprovals } from './approvals.ts';

const on = { confirmation_mode: true };

function startAsking(t: TestContext, { settings, ...more }: RunsOptions = {}): Promise<Runs> {
  return startRuns({ settings: { ...on, ...settings }, ...more }, t);
}

const confirm = ({ service }: Runs, id: string, json: object) =>
  service.ask(`/api/conversations/${id}/confirm`, { json });

const options = [
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
];

/** An answer of the user as the run reads it. */
function answerEvent(id: number, decision: Decision): UserAnswer {
  const agent_state = decision === 'reject' ? 'user_rejected' : 'user_confirmed';
  const args = { agent_state, decision } as const;
  const head = { id, timestamp: '', source: 'user', message: '' } as const;
  return { ...head, type: 'action.change_agent_state', action: 'change_agent_state', args };
}

/** What is said of the call that somebody was asked about. */
const decided = ({ action, args }: TestEvent) => [
  action,
  args?.['confirmation_state'],
  args?.['security_risk'],
];

for (const kind of databaseKinds) {
  describe(`an approval request on ${kind}`, () => {
    it("waits in the log for the user's answer, and each answer reaches the agent", async (t) => {
      const runs = await startAsking(t, { kind });
      const id = await runs.create('ask execute rm one\nask edit two\nask three');
      const answers = [
        ['allow', 'run', 2],
        ['allow_always', 'edit', 1],
        ['reject', 'call_tool_mcp', 2],
      ] as const;
      for (const [i, [decision, action, risk]] of answers.entries()) {
        const asked = await approvalRequest(runs, id, i + 1);
        assert.deepEqual(decided(asked), [action, 'awaiting_confirmation', risk]);
        const { status } = await confirm(runs, id, { decision, question: asked.id });
        assert.equal(status, 200);
      }
      assert.deepEqual(await runs.turns(id, 1), [
        'the answer was once',
        'the answer was always',
        'the answer was no',
      ]);
      const late = await confirm(runs, id, { decision: 'allow' });
      assert.deepEqual([late.status, late.body.code], [409, 'nothing_to_confirm']);
      const events = await runs.events(id);
      assert.deepEqual(statesOf(events), [
        'loading',
        'running',
        ...['user_confirmed', 'user_confirmed', 'user_rejected'].flatMap((state) => [
          'awaiting_user_confirmation',
          state,
          'running',
        ]),
        'awaiting_user_input',
      ]);
      const asked = events.filter(({ args }) => args?.['confirmation_state'] === 'awaiting_confirmation');
      // Existing clients show buttons for an action that follows the state.
      for (const { id: asks } of asked)
        assert.equal(events[asks - 1]?.extras?.['agent_state'], 'awaiting_user_confirmation');
      // Each of them has one result, which names it.
      assert.deepEqual(
        events
          .filter(({ cause }) => cause !== undefined)
          .map(({ observation, cause, extras }) => [observation, cause, extras?.['outcome']]),
        [
          ['run', asked[0]?.id, 'completed'],
          ['edit', asked[1]?.id, 'completed'],
          ['user_rejected', asked[2]?.id, undefined],
        ],
      );
    });

    it('is reported to subscribers of all conversations, and so are the states before and after', async (t) => {
      const runs = await startAsking(t, { kind });
      const { service } = runs;
      const stream = await openStream(service.url, '/api/events/stream', { key: service.key });
      t.after(() => stream.cut());
      const id = await runs.create('ask execute rm one');
      await approvalRequest(runs, id);
      assert.equal((await runs.info(id)).agent_state, 'awaiting_user_confirmation');
      await confirm(runs, id, { decision: 'allow' });
      await runs.turns(id, 1);
      assert.equal((await runs.info(id)).agent_state, 'awaiting_user_input');
      const states = () => stream.frames().map(({ data }) => JSON.parse(data).agent_state);
      const waits = 'awaiting_user_input';
      // It runs as soon as a message waits for it, and once more when the turn begins.
      const expected = [null, 'running', 'running', 'awaiting_user_confirmation', 'running', waits];
      await until('all was told', () => states().length >= expected.length);
      assert.deepEqual(states(), expected);
    });

    it('is closed when the service stops, reported as expired, and the agent can ask again', async (t) => {
      const storage = await createStorage(kind);
      const first = await startAsking(t, { storage });
      const id = await first.create('remember this\nask execute deploy');
      const asked = await approvalRequest(first, id);
      await first.service.stop();

      const second = await startAsking(t, { storage });
      t.after(() => storage.remove());
      await second.turns(id, 2);
      const late = await confirm(second, id, { decision: 'allow', question: asked.id });
      assert.equal(late.status, 409);
      assert.deepEqual(
        errorsAndNotices(await second.events(id)).filter((text) => text.includes('expired')),
        ['The approval request has expired; the agent may ask again.'],
      );
      await second.say(id, 'recall\nask execute deploy');
      await approvalRequest(second, id, 2);
      await confirm(second, id, { decision: 'allow' });
      assert.deepEqual((await second.turns(id, 3)).slice(-2), ['I remember this', 'the answer was once']);
    });
  });
}

describe('an approval request', () => {
  it('is answered by an event that arrived before the request was known to be in the log', async () => {
    const record = async () => {
      confirming.answer(answerEvent(9, 'reject'));
      return 7;
    };
    const policy = () => ({ confirmationMode: true, securityAnalyzer: null, forced: false });
    const confirming = createApprovals({
      policy,
      guard: createActionGuard({ policy, always: [], onUnapproved: () => {} }),
      recorder: createRecorder({ record, masking: createMasking([]), watch: createRunFaults().watch }),
      mapper: createEventMapper(),
    });
    const request = {
      toolCall: { toolCallId: 'one', title: 'deploy' },
      options,
    };
    const answer = await confirming.onPermission(request, new AbortController().signal);
    assert.deepEqual(answer, { optionId: 'no' });
  });

  it('is rejected if it cannot be shown in full, and the log says so', async () => {
    const events: AnyEvent[] = [];
    const record = async ({ events: texts = [] }: RunStep) => {
      events.push(...texts.map(parseText));
      return 7;
    };
    const recorder = createRecorder({ record, masking: createMasking([]), watch: createRunFaults().watch });
    const policy = () => ({ confirmationMode: true, securityAnalyzer: null, forced: false });
    const confirming = createApprovals({
      policy,
      recorder,
      mapper: createEventMapper(),
      guard: createActionGuard({ policy, always: [], onUnapproved: () => {} }),
    });
    const nested = Array.from({ length: 20 }).reduce<object>((inner) => ({ inner }), {});
    const inputs = [{ command: `${'#'.repeat(20_000)}\nrm -rf /` }, { list: Array(300).fill(1) }, nested];
    for (const [i, rawInput] of inputs.entries()) {
      const request = { toolCall: { toolCallId: String(i), kind: 'execute', rawInput }, options };
      const answer = await confirming.onPermission(request, new AbortController().signal);
      assert.deepEqual(answer, { optionId: 'no' });
    }
    const empty = { toolCall: { toolCallId: 'empty' }, options };
    assert.deepEqual(await confirming.onPermission(empty, new AbortController().signal), { optionId: 'no' });
    await recorder.step({});
    assert.ok(
      errorsAndNotices(events as never).some((text) => text.includes('it does not say what it would do')),
    );
    assert.equal(
      errorsAndNotices(events as never).filter((text) =>
        text.includes('cannot be shown in full: its input is too large'),
      ).length,
      3,
    );
  });

  it('leaves no action without a result if the conversation is stopped right after it was rejected', async () => {
    const kept: AnyEvent[] = [];
    const record = async ({ events: texts = [], isFinal, approvalRequestIndex }: RunStep) => {
      if (isFinal) kept.push(...texts.map(parseText));
      if (approvalRequestIndex === undefined) return isFinal ? 9 : undefined;
      confirming.answer(answerEvent(9, 'reject'));
      return 7;
    };
    const recorder = createRecorder({ record, masking: createMasking([]), watch: createRunFaults().watch });
    const policy = () => ({ confirmationMode: true, securityAnalyzer: null, forced: false });
    const guard = createActionGuard({ policy, always: [], onUnapproved: () => {} });
    const mapper = createEventMapper();
    const confirming = createApprovals({ policy, recorder, mapper, guard });
    const request = { toolCall: { toolCallId: 'one', title: 'deploy' }, options };
    await confirming.onPermission(request, new AbortController().signal);
    await recorder.recordFinal(mapper.end());
    const results = kept.filter((event) => 'observation' in event && event['tool_call_id'] === 'one');
    assert.deepEqual(
      results.map((event) => event['observation']),
      ['user_rejected'],
    );
  });

  it('is rejected with a notice if the agent offers no way to allow it once', async () => {
    const events: AnyEvent[] = [];
    const record = async ({ events: texts = [] }: RunStep) => {
      events.push(...texts.map(parseText));
      return undefined;
    };
    const recorder = createRecorder({ record, masking: createMasking([]), watch: createRunFaults().watch });
    const policy = () => ({ confirmationMode: true, securityAnalyzer: null, forced: false });
    const guard = createActionGuard({ policy, always: [], onUnapproved: () => {} });
    const confirming = createApprovals({ policy, recorder, mapper: createEventMapper(), guard });
    const request = {
      toolCall: { toolCallId: '1', kind: 'execute', rawInput: { command: 'ls' } },
      options: [
        { optionId: 'ever', name: 'Allow once', kind: 'allow_always' },
        { optionId: 'no', name: 'No', kind: 'reject_once' },
      ],
    };
    const answer = await confirming.onPermission(request, new AbortController().signal);
    await recorder.step({});
    assert.deepEqual(answer, { optionId: 'no' });
    assert.equal(events.length, 1);
    assert.match(errorsAndNotices(events as never)[0] ?? '', /no way to allow the action only once/);
  });

  it('comes from an agent in its asking mode, and from none in the other if nobody confirms', async (t) => {
    const storage = await createStorage('sqlite');
    const modes = { ask: { id: 'careful' }, auto: { id: 'free' } };
    const args = ['--modes', 'free,careful'];
    const programs = [{ command: 'parley-fake-agent', args, env: {}, modes }];
    const agents = [{ id: 'fake', name: 'Fake', protocol: 'openai-chat', asks: 'all', programs }];
    writeFileSync(join(storage.dataDir, 'agents.json'), JSON.stringify({ agents }));
    const runs = await startAsking(t, { storage });
    t.after(() => storage.remove());
    assert.deepEqual(await runs.turns(await runs.create('mode'), 1), ['mode careful']);
    await runs.service.ask('/api/settings', { json: { confirmation_mode: false } });
    assert.deepEqual(await runs.turns(await runs.create('mode'), 1), ['mode free']);
  });

  it('can be answered as older clients do', async (t) => {
    const runs = await startAsking(t);
    const id = await runs.create('ask first\nask second');
    for (const [i, state] of ['user_confirmed', 'user_rejected'].entries()) {
      await approvalRequest(runs, id, i + 1);
      const json = { action: 'change_agent_state', args: { agent_state: state } };
      assert.equal((await runs.service.ask(`/api/conversations/${id}/events`, { json })).status, 200);
    }
    assert.deepEqual(await runs.turns(id, 1), ['the answer was once', 'the answer was no']);
  });

  it('is shown one at a time, however many an agent sends at once', async (t) => {
    const runs = await startAsking(t);
    const id = await runs.create('ask-many 3');
    const ids = new Set<number>();
    for (const count of [1, 2, 3]) {
      ids.add((await approvalRequest(runs, id, count)).id);
      assert.equal((await confirm(runs, id, { decision: 'allow' })).status, 200);
    }
    await runs.turns(id, 1);
    assert.equal(ids.size, 3);
  });

  it('ends with its conversation if the user stops it, and is not repeated when it starts', async (t) => {
    const runs = await startAsking(t);
    const id = await runs.create('ask execute deploy');
    await approvalRequest(runs, id);
    await runs.service.ask(`/api/conversations/${id}/stop`, { method: 'POST' });
    const { code, events } = await ending(runs, id);
    assert.deepEqual([code, statesOf(events).at(-1)], ['user', 'stopped']);
    assert.equal((await confirm(runs, id, { decision: 'allow' })).status, 409);
    await runs.say(id, 'say hello');
    assert.deepEqual(await runs.turns(id, 2), ['the answer was cancelled', 'hello']);
    assert.ok(!errorsAndNotices(await runs.events(id)).some((text) => text.includes('expired')));
  });

  it('keeps waiting when a message arrives, which is the next turn', async (t) => {
    const runs = await startAsking(t);
    const id = await runs.create('ask execute deploy');
    await approvalRequest(runs, id);
    await runs.say(id, 'say after');
    await approvalRequest(runs, id);
    assert.equal((await confirm(runs, id, { decision: 'reject' })).status, 200);
    // The answer lets the first turn run again, which counts as one.
    assert.deepEqual(await runs.turns(id, 3), ['the answer was no', 'after']);
  });

  it('is allowed and recorded if confirmation mode is off', async (t) => {
    const runs = await startAsking(t, { settings: { confirmation_mode: false } });
    const id = await runs.create('ask execute deploy');
    assert.deepEqual(await runs.turns(id, 1), ['the answer was once']);
    const events = await runs.events(id);
    const asked = events.filter(({ args }) => args?.['confirmation_state'] !== undefined);
    assert.deepEqual(asked.map(decided), [['run', 'confirmed', 2]]);
    assert.deepEqual(statesOf(events), ['loading', 'running', 'awaiting_user_input']);
  });

  it('is shown to the user only for high risk if a security analyzer is set', async (t) => {
    const runs = await startAsking(t, { settings: { security_analyzer: 'invariant' } });
    const id = await runs.create('ask read notes\nask edit notes\nask delete notes');
    const asked = await approvalRequest(runs, id);
    assert.deepEqual(decided(asked), ['edit', 'awaiting_confirmation', 2]);
    await confirm(runs, id, { decision: 'reject' });
    assert.deepEqual(await runs.turns(id, 1), [
      'the answer was once',
      'the answer was once',
      'the answer was no',
    ]);
    const allowed = (await runs.events(id)).filter(
      ({ args }) => args?.['confirmation_state'] === 'confirmed',
    );
    assert.deepEqual(allowed.map(decided), [
      ['read', 'confirmed', 0],
      ['edit', 'confirmed', 1],
    ]);
  });

  it('shows input that the agent sends right after it', async (t) => {
    const runs = await startAsking(t);
    const id = await runs.create('ask-then-tell docs find whales');
    const asked = await approvalRequest(runs, id);
    assert.deepEqual([asked.args?.['name'], asked.args?.['arguments']], ['docs/find', { word: 'whales' }]);
    await confirm(runs, id, { decision: 'allow' });
    assert.deepEqual(await runs.turns(id, 1), ['allowed']);
  });

  it('is repeated if the agent has changed it since, and the first answer does not count', async () => {
    const asked: unknown[] = [];
    const answers: Decision[] = ['allow', 'reject'];
    const mapper = createEventMapper();
    const record = async ({ events = [], approvalRequestIndex: asks }: RunStep) => {
      if (asks === undefined) return 7;
      asked.push(parseText(events[asks]).args);
      const id = asked.length * 10;
      // The agent changes it when the question is in the log, and the user answers then.
      mapper.take({ sessionUpdate: 'tool_call_update', ...call, rawInput: { command: 'rm a' } });
      confirming.answer(answerEvent(id + 5, answers.shift() ?? 'allow'));
      return id;
    };
    const call = { toolCallId: '1', kind: 'execute' };
    const recorder = createRecorder({ record, masking: createMasking([]), watch: createRunFaults().watch });
    const policy = () => ({ confirmationMode: true, securityAnalyzer: null, forced: false });
    const guard = createActionGuard({ policy, always: [], onUnapproved: () => {} });
    const confirming = createApprovals({ policy, recorder, mapper, guard });
    const request = {
      toolCall: { ...call, rawInput: { command: 'ls' } },
      options,
    };
    const answer = await confirming.onPermission(request, new AbortController().signal);
    assert.deepEqual(answer, { optionId: 'no' });
    assert.equal(asked.length, 2);
    assert.match(JSON.stringify(asked[1]), /"announced":\{"command":"rm a"\}/);
  });

  it('is shown to the user if the announcement or the input say more than the request', async () => {
    const risks: unknown[] = [];
    const record = async ({ events = [] }: RunStep) => {
      const asked = events.map((event) => parseText(event).args?.['security_risk']);
      risks.push(...asked.filter((risk) => risk !== undefined));
      return undefined;
    };
    const recorder = createRecorder({ record, masking: createMasking([]), watch: createRunFaults().watch });
    const policy = () => ({ confirmationMode: true, securityAnalyzer: 'some', forced: false });
    const mapper = createEventMapper();
    const { onPermission } = createApprovals({
      policy,
      recorder,
      mapper,
      guard: createActionGuard({ policy, always: [], onUnapproved: () => {} }),
    });
    mapper.take({ sessionUpdate: 'tool_call', toolCallId: '1', kind: 'execute', title: 'rm a' });
    const calls = [
      { toolCallId: '1', kind: 'read', title: 'rm a' },
      { toolCallId: '2', kind: 'read', rawInput: { command: 'cat a' } },
      { toolCallId: '3', kind: 'think', rawInput: { path: 'a', content: 'b', command: 'rm a' } },
    ];
    for (const toolCall of calls)
      assert.equal(await onPermission({ toolCall, options }, new AbortController().signal), 'cancelled');
    assert.deepEqual(risks, [2, 2, 2]);
  });
});
