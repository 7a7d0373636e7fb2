import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConversationInfo } from '../../../../src/client/parley.ts';
import { en } from '../../texts/en.ts';
import type { LogState } from '../items.ts';
import { startStep, statusText } from './statusText.ts';

const idle: LogState = {
  agentState: 'awaiting_user_input',
  approval: undefined,
  tasks: [],
  context: undefined,
};
const info = (part: Partial<ConversationInfo>) => ({ stop_reason: null, ...part }) as ConversationInfo;

describe('the status text of a conversation', () => {
  it('is a sentence for each state', () => {
    const textOf = (part: Partial<ConversationInfo>, state: LogState = idle) =>
      statusText(info(part), state, en);
    const approval = { event: 1, summary: 'rm x', risk: 2, answer: 'open' } as const;
    assert.equal(
      textOf({ status: 'STARTING', start_progress: { step: 'starting_agent', details: null } }),
      'Starting the agent',
    );
    assert.equal(textOf({ status: 'RUNNING' }), en.status.waiting);
    assert.equal(textOf({ status: 'RUNNING' }, { ...idle, agentState: 'running' }), en.status.running);
    assert.equal(textOf({ status: 'RUNNING' }, { ...idle, agentState: '' }), en.status.RUNNING);
    assert.match(textOf({ status: 'RUNNING' }, { ...idle, approval }), /rm x$/);
    assert.equal(
      textOf({ status: 'STOPPED', stop_reason: { code: 'user', message: 'You did.' } }),
      'You did.',
    );
    assert.equal(statusText(undefined, idle, en), '');
  });

  it('names each step of a start', () => {
    assert.equal(startStep({ start_progress: null }).index, 0);
    const setting = startStep({ start_progress: { step: 'preparing_workspace', details: '10 %: half' } });
    assert.deepEqual([setting.index, setting.details], [2, '10 %: half']);
    assert.equal(
      startStep({ start_progress: { step: 'new' as 'starting_agent', details: null } }).name,
      undefined,
    );
  });
});
