import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { en } from '../texts/en.ts';
import type { LogState } from './items.ts';
import { startStep, statusText } from './statusText.ts';

const rest: LogState = {
  agentState: 'awaiting_user_input',
  question: undefined,
  tasks: [],
  context: undefined,
};
const info = (part: Partial<ConversationInfo>) => ({ stop_reason: null, ...part }) as ConversationInfo;

describe('the status text of a conversation', () => {
  it('is a sentence for each state', () => {
    const said = (part: Partial<ConversationInfo>, state: LogState = rest) =>
      statusText(info(part), state, en);
    const question = { event: 1, about: 'rm x', risk: 2, answer: 'open' } as const;
    assert.equal(said({ status: 'STARTING', runtime_status: 'STATUS$STARTING_AGENT' }), 'Starting the agent');
    assert.equal(said({ status: 'RUNNING' }), en.status.waiting);
    assert.equal(said({ status: 'RUNNING' }, { ...rest, agentState: 'running' }), en.status.working);
    assert.equal(said({ status: 'RUNNING' }, { ...rest, agentState: '' }), en.status.RUNNING);
    assert.match(said({ status: 'RUNNING' }, { ...rest, question }), /rm x$/);
    assert.equal(said({ status: 'STOPPED', stop_reason: { code: 'user', message: 'You did.' } }), 'You did.');
    assert.equal(statusText(undefined, rest, en), '');
  });

  it('names each step of a start', () => {
    assert.equal(startStep({ runtime_status: null }).index, 0);
    const setting = startStep({ runtime_status: 'STATUS$SETTING_UP_WORKSPACE: 10 %: half' });
    assert.deepEqual([setting.index, setting.details], [2, '10 %: half']);
    assert.equal(startStep({ runtime_status: 'STATUS$NEW' }).name, undefined);
  });
});
