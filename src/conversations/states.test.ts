import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  agentStateOf,
  conversationStatuses,
  mayFollow,
  stopCodes,
  stopReasons,
  transitions,
} from './states.ts';

describe('the states of a conversation', () => {
  it('follow each other as the table says, and in no other way', () => {
    const allowed = conversationStatuses.flatMap((from) =>
      conversationStatuses.filter((to) => mayFollow(from, to)).map((to) => `${from} → ${to}`),
    );
    assert.deepEqual(allowed, [
      'STARTING → RUNNING',
      'STARTING → STOPPED',
      'RUNNING → STOPPED',
      'STOPPED → STARTING',
    ]);
  });

  it('begin with STARTING, or with STOPPED after an import or a fork', () => {
    assert.deepEqual(
      transitions.filter(({ from }) => from === null).map(({ to }) => to),
      ['STARTING', 'STOPPED'],
    );
  });

  it('end for one of sixteen reasons, each with a sentence', () => {
    assert.deepEqual(stopCodes.toSorted(), [
      'agent_error',
      'agent_missing',
      'finished',
      'forked',
      'idle',
      'imported',
      'max_budget',
      'max_iterations',
      'no_sandbox',
      'shutdown',
      'start_timeout',
      'unconfirmed_action',
      'user',
      'user_budget',
      'user_inactive',
      'workspace_error',
    ]);
    for (const sentence of Object.values(stopReasons)) assert.match(sentence, /^[A-Z].+\.$/);
  });
});

describe('the state of an agent', () => {
  const idle = { status: 'RUNNING', turn_open: 0, question: null, said: 3, heard: 3 };
  const cases = [
    ['waits for input once it was given every message', idle, 'awaiting_user_input'],
    ['runs while a message waits for its turn', { ...idle, said: 4 }, 'running'],
    ['runs during a turn', { ...idle, turn_open: 1 }, 'running'],
    ['waits for approval', { ...idle, turn_open: 1, question: 7 }, 'awaiting_user_confirmation'],
    ['is unknown unless the conversation is RUNNING', { ...idle, status: 'STOPPED' }, null],
  ] as const;
  for (const [name, progress, state] of cases)
    it(name, () => {
      assert.equal(agentStateOf(progress), state);
    });
});
