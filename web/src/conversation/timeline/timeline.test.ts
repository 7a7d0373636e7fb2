import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeEvent } from '../../../../src/client/parley.ts';
import type { CallItem, Item } from '../items.ts';
import { createTimeline } from './timeline.ts';

interface Draft {
  readonly args?: object;
  readonly [field: string]: unknown;
}

function timelineOf(...drafts: readonly Draft[]) {
  const timeline = createTimeline();
  for (const [id, draft] of drafts.entries())
    timeline.add(decodeEvent({ id, source: 'agent', message: '', ...draft }));
  return timeline;
}

const state = (agentState: string, reason = ''): Draft => ({
  source: 'environment',
  observation: 'agent_state_changed',
  extras: { agent_state: agentState, reason },
});
const approvalRequest: Draft = {
  action: 'run',
  message: 'rm x',
  tool_call_id: 'c1',
  args: { command: 'rm x', confirmation_state: 'awaiting_confirmation', security_risk: 2 },
};

function callOf(item: Item | undefined): CallItem['call'] {
  assert.equal(item?.kind, 'call');
  return (item as CallItem).call;
}

describe('a timeline', () => {
  it('combines an action and its observation into one item at the position of the action', () => {
    const { items } = timelineOf(
      { action: 'run', tool_call_id: 'c1', args: { command: 'ls' }, message: 'List' },
      { action: 'message', args: { content: 'Meanwhile' } },
      {
        observation: 'run',
        tool_call_id: 'c1',
        content: 'a\n',
        extras: { metadata: { exit_code: 2 }, outcome: 'failed' },
      },
    );
    assert.deepEqual(
      items().map(({ id, kind }) => [id, kind]),
      [
        [0, 'call'],
        [1, 'message'],
      ],
    );
    const call = callOf(items()[0]);
    assert.deepEqual([call.subject, call.output, call.exitCode, call.outcome], ['ls', 'a\n', 2, 'failed']);
  });

  it('marks messages that are sent during a turn until the turn ends', () => {
    const message: Draft = { source: 'user', action: 'message', args: { content: 'And this' } };
    const isQueued = (...drafts: Draft[]) =>
      timelineOf(...drafts)
        .items()
        .flatMap((item) => (item.kind === 'message' ? [item.isQueued] : []));
    assert.deepEqual(isQueued(message, state('running'), message), [false, true]);
    // An answer to an approval request continues the same turn.
    const answered = [
      state('awaiting_user_confirmation'),
      message,
      state('user_confirmed'),
      state('running'),
    ];
    assert.deepEqual(isQueued(...answered), [true]);
    assert.deepEqual(isQueued(...answered, state('awaiting_user_input')), [false]);
    assert.deepEqual(isQueued(state('running'), message, state('stopped')), [false]);
  });

  it('knows when a call began or was approved', () => {
    const approved: Draft = {
      source: 'user',
      action: 'change_agent_state',
      args: { agent_state: 'user_confirmed' },
      timestamp: '2026-01-01T10:01:00Z',
    };
    const request = { ...approvalRequest, timestamp: '2026-01-01T10:00:00Z' };
    assert.equal(callOf(timelineOf(request).items()[0]).since, request.timestamp);
    assert.equal(callOf(timelineOf(request, approved).items()[0]).since, approved.timestamp);
  });

  it('creates a new item when a call id is used again', () => {
    const end: Draft = {
      observation: 'run',
      tool_call_id: 'c1',
      content: 'x',
      extras: { outcome: 'completed' },
    };
    const begin: Draft = { action: 'run', tool_call_id: 'c1', args: { command: 'ls' } };
    const { items } = timelineOf(begin, end, begin);
    assert.deepEqual(
      items().map((item) => callOf(item).outcome),
      ['completed', undefined],
    );
  });

  it('shows an observation without its action', () => {
    const { items } = timelineOf({
      observation: 'read',
      content: 'text',
      extras: { path: '/workspace/a/b.ts' },
    });
    assert.deepEqual([callOf(items()[0]).subject, callOf(items()[0]).output], ['a/b.ts', 'text']);
  });

  it('shortens paths in the workspace, and no others', () => {
    const subjectOf = (path: string) =>
      callOf(timelineOf({ action: 'read', args: { path } }).items()[0]).subject;
    assert.equal(subjectOf('/data/conversations/12/workspace/a.ts'), 'a.ts');
    for (const path of [
      '/etc/workspace/a.ts',
      '/x/conversations/a/workspace/b',
      '/workspace/',
      'workspace/a',
    ])
      assert.equal(subjectOf(path), path);
  });

  it('shows hidden characters in approval requests', () => {
    const { items, state: now } = timelineOf({
      ...approvalRequest,
      message: 'a\u200bb',
      args: { ...approvalRequest.args, command: ': \u202e# x' },
    });
    const call = callOf(items()[0]);
    assert.deepEqual([call.subject, call.title], [': ⟨U+202E⟩# x', 'a⟨U+200B⟩b']);
    assert.equal(now().approval?.summary, ': ⟨U+202E⟩# x');
    const tool = { action: 'call_tool', args: { name: 'x\ny', arguments: { a: '\u2066' } } };
    const used = callOf(timelineOf(tool).items()[0]);
    assert.deepEqual([used.subject, used.input], ['x⟨U+000A⟩y', '{\n  "a": "⟨U+2066⟩"\n}']);
  });

  it('accepts events of any shape, and shows what it can', () => {
    const { items } = timelineOf(
      { observation: 'notice', content: { a: 1 } as never },
      { observation: 'run', content: 5 as never, extras: null as never },
      { action: 'task_tracking', args: { task_list: [null, { title: 'a', status: 'done' }, 'b'] } },
      { action: 'message', args: null as never, message: null as never },
      { action: 'message', args: { content: 'x', image_urls: [null, 5, 'data:'] }, timestamp: 7 as never },
      { observation: 'edit', content: 5 as never, tool_call_id: 5 as never },
      { action: 'run', args: [] as never, message: 'm' },
      { action: {} as never, observation: [] as never },
      { observation: 'agent_state_changed', extras: 'x' as never },
      { observation: 'usage', extras: null as never },
      { action: 'change_agent_state', args: null as never },
      { action: 'think', args: 5 as never },
    );
    assert.deepEqual(
      items().map((item) => ('text' in item ? item.text : item.kind)),
      ['{"a":1}', 'call', 'plan', '', 'x', 'call', 'call', ''],
    );
    const [, run, plan] = items();
    assert.equal(callOf(run).output, '5');
    assert.deepEqual(plan?.kind === 'plan' && plan.tasks, [{ title: 'a', status: 'done' }]);
  });

  it('separates the diff of an edit from its message', () => {
    const diff = '--- /dev/null\n+++ a.txt\n@@ -0,0 +1,1 @@\n+one';
    const { items } = timelineOf({
      observation: 'edit',
      content: `${diff}\nIt was rejected.`,
      extras: { path: 'a.txt', prev_exist: false },
    });
    const call = callOf(items()[0]);
    assert.deepEqual([call.diff, call.output, call.createsFile], [diff, 'It was rejected.', true]);
    const { items: withExtras } = timelineOf({
      observation: 'edit',
      content: 'Done.',
      extras: { path: 'a', diff },
    });
    assert.deepEqual([callOf(withExtras()[0]).diff, callOf(withExtras()[0]).output], [diff, 'Done.']);
  });

  it('keeps an approval request open until it is answered', () => {
    const open = timelineOf(approvalRequest, state('awaiting_user_confirmation'));
    assert.deepEqual(open.state().approval, { event: 0, summary: 'rm x', risk: 2, answer: 'open' });
    for (const [args, answer] of [
      [{ agent_state: 'user_confirmed', decision: 'allow' }, 'allow'],
      [{ agent_state: 'user_confirmed', decision: 'allow_always' }, 'allow_always'],
      [{ agent_state: 'user_rejected', decision: 'reject' }, 'reject'],
    ] as const) {
      const timeline = timelineOf(
        approvalRequest,
        { source: 'user', action: 'change_agent_state', args },
        state('running'),
      );
      assert.equal(callOf(timeline.items()[0]).approval?.answer, answer);
      assert.equal(timeline.state().approval, undefined);
    }
  });

  it('accepts an approval request that follows the state, and ends a call that was rejected', () => {
    const open = timelineOf(state('awaiting_user_confirmation'), approvalRequest);
    assert.deepEqual(open.state().approval, { event: 1, summary: 'rm x', risk: 2, answer: 'open' });
    const { items } = timelineOf(
      state('awaiting_user_confirmation'),
      approvalRequest,
      { source: 'user', action: 'change_agent_state', args: { agent_state: 'user_rejected' } },
      state('user_rejected'),
      { observation: 'user_rejected', tool_call_id: 'c1', cause: 1, content: 'Rejected.' },
      { observation: 'user_rejected', tool_call_id: 'unknown', cause: 9, content: 'Rejected.' },
      state('running'),
    );
    assert.equal(items().length, 1);
    const call = callOf(items()[0]);
    assert.deepEqual([call.outcome, call.approval?.answer], ['failed', 'reject']);
  });

  it('shows a pause as a stop', () => {
    const { items } = timelineOf(approvalRequest, state('paused', 'You stopped the conversation.'));
    assert.equal(callOf(items()[0]).outcome, 'unfinished');
    assert.deepEqual(items()[1], {
      id: 1,
      at: undefined,
      replayed: false,
      kind: 'stopped',
      text: 'You stopped the conversation.',
    });
  });

  it('closes an approval request that can no longer be answered', () => {
    const timeline = timelineOf(
      approvalRequest,
      state('awaiting_user_confirmation'),
      state('stopped', 'You stopped the conversation.'),
    );
    assert.equal(callOf(timeline.items()[0]).approval?.answer, 'closed');
    assert.equal(timeline.state().agentState, 'stopped');
  });

  it('adds an approval request to a call that was announced before', () => {
    const { items, state: now } = timelineOf(
      { action: 'run', tool_call_id: 'c1', args: { command: 'rm x' } },
      approvalRequest,
    );
    assert.equal(items().length, 1);
    assert.equal(now().approval?.event, 1);
  });

  it('replaces the approval request of a call by a newer one', () => {
    const { items, state: now } = timelineOf(
      approvalRequest,
      { source: 'user', action: 'change_agent_state', args: { agent_state: 'user_confirmed' } },
      approvalRequest,
    );
    assert.equal(items().length, 1);
    assert.deepEqual(callOf(items()[0]).approval, now().approval);
    assert.deepEqual([now().approval?.event, now().approval?.answer], [2, 'open']);
  });

  it('marks running calls as unfinished when the agent stops or restarts, and accepts late results', () => {
    const begin: Draft = { action: 'run', tool_call_id: 'c1', args: { command: 'sleep 9' } };
    const end: Draft = {
      observation: 'run',
      tool_call_id: 'c1',
      content: 'x',
      extras: { outcome: 'completed' },
    };
    for (const past of ['loading', 'awaiting_user_input', 'stopped', 'paused'])
      assert.equal(callOf(timelineOf(begin, state(past)).items()[0]).outcome, 'unfinished', past);
    for (const active of ['running', 'awaiting_user_confirmation'])
      assert.equal(callOf(timelineOf(begin, state(active)).items()[0]).outcome, undefined, active);
    const late = callOf(timelineOf(begin, state('awaiting_user_input'), end).items()[0]);
    assert.deepEqual([late.outcome, late.output], ['completed', 'x']);
  });

  it('keeps the latest plan for each message of the user', () => {
    const plan = (title: string): Draft => ({
      action: 'task_tracking',
      args: { task_list: [{ title, status: 'done' }] },
    });
    const user: Draft = { source: 'user', action: 'message', args: { content: 'Go on' } };
    const { items, state: now } = timelineOf(plan('a'), plan('b'), user, plan('c'));
    const titles = items().flatMap((item) =>
      item.kind === 'plan' ? item.tasks.map(({ title }) => title) : [],
    );
    assert.deepEqual(titles, ['b', 'c']);
    assert.equal(now().tasks[0]?.title, 'c');
  });

  it('shows an error once, even if it is also the stop reason', () => {
    const { items } = timelineOf(
      { observation: 'error', content: 'It died. Its last words: x' },
      state('stopped', 'It died.'),
    );
    assert.deepEqual(
      items().map(({ kind }) => kind),
      ['error'],
    );
  });

  it('omits calls of thinking tools, unless they need approval', () => {
    const args = { name: 'update_plan', kind: 'think', arguments: {} };
    const begin: Draft = { action: 'call_tool', tool_call_id: 'c1', args };
    const end: Draft = { observation: 'call_tool', tool_call_id: 'c1', content: 'Shown.', extras: args };
    assert.equal(timelineOf(begin, end).items().length, 0);
    const withRequest: Draft = { ...begin, args: { ...args, confirmation_state: 'awaiting_confirmation' } };
    assert.equal(timelineOf(withRequest, end).items().length, 1);
  });

  it('keeps the details of an approval request', () => {
    const args = { ...approvalRequest.args, request: { input: { cwd: '/', script: 'rm\u202ex' } } };
    const [item] = timelineOf({ ...approvalRequest, args }).items();
    assert.match(callOf(item).approvalDetails, /^input\.cwd: \/\ninput\.script: rm(?!\u202e)/);
  });

  it('ignores unknown events', () => {
    const { items } = timelineOf({ action: 'from_the_future' }, { observation: '__proto__' }, {});
    assert.deepEqual(items(), []);
  });

  it('never mutates returned items', () => {
    const timeline = timelineOf(approvalRequest);
    const before = timeline.items();
    timeline.add(decodeEvent({ id: 1, observation: 'run', content: 'x', tool_call_id: 'c1' }));
    assert.equal(callOf(before[0]).output, '');
    assert.equal(callOf(timeline.items()[0]).output, 'x');
  });
});
