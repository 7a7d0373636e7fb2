import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, it } from 'node:test';
import { gitProviders } from '../../git/providers.ts';
import { fingerprintText, firstMessage, normaliseRequest, replayOf, subjectOf, titleOf } from './request.ts';
import { taskTypes } from './schema.ts';

const textOf = (request: Parameters<typeof normaliseRequest>[0]) =>
  fingerprintText(normaliseRequest(request), replayOf(request));

describe('the fingerprint of a request', () => {
  it('is the same where two requests ask for the same', () => {
    const same = [
      {},
      { repository: null },
      { image_urls: [] },
      { conversation_id: 'x' },
      { mcp_config: null, suggested_task: null, replay_json: null },
      ...['', ' ', '[]', '{}', '\n[ ] ', '{\t}'].map((replay_json) => ({ replay_json })),
    ];
    assert.equal(new Set(same.map(textOf)).size, 1);
    const order = [
      { repository: 'a', initial_user_msg: 'b' },
      { initial_user_msg: 'b', repository: 'a' },
    ];
    assert.equal(new Set(order.map(textOf)).size, 1);
  });

  it('is the same as before requests could name an agent and a model', () => {
    const old = {
      repository: 'acme/shop',
      git_provider: 'github',
      selected_branch: 'main',
      initial_user_msg: 'Fix it.',
      image_urls: ['https://example.com/a.png'],
      replay_json: '[{"action":"message"}]',
      suggested_task: {
        git_provider: 'github',
        task_type: 'OPEN_ISSUE',
        repo: 'acme/shop',
        issue_number: 7,
        title: 'Bug',
      },
      create_microagent: { repo: 'acme/shop', title: null },
      conversation_instructions: 'Be brief.',
      mcp_config: { shttp_servers: [{ url: 'https://example.com/mcp', api_key: 'k' }] },
      conversation_id: 'mine',
    } as const satisfies object as unknown as Parameters<typeof normaliseRequest>[0];
    for (const none of [
      {},
      { agent: null, llm_model: null, confirmation_mode: null },
      { agent: '', llm_model: '' },
    ]) {
      assert.equal(textOf(none), '{}');
      // Computed by the version before.
      assert.equal(
        hash('sha256', textOf({ ...old, ...none })),
        '772f70e4e6efc0accd0c90661f39e274550faf3541e686de4cf79e569a5a5ed4',
      );
    }
  });

  it('differs where anything differs that matters', () => {
    const different = [
      {},
      { repository: 'a' },
      { selected_branch: 'a' },
      { initial_user_msg: 'a' },
      { agent: 'a' },
      { llm_model: 'a' },
      { confirmation_mode: true },
      { confirmation_mode: false },
      { initial_user_msg: '' },
      { conversation_instructions: 'a' },
      { replay_json: '{"events":[]}' },
      { mcp_config: {} },
      { mcp_config: { sse_servers: ['https://a.example'] } },
      { mcp_config: { shttp_servers: ['https://a.example'] } },
      { mcp_config: { sse_servers: [{ url: 'https://a.example', api_key: 'x' }] } },
      { mcp_config: { sse_servers: [{ url: 'https://a.example', api_key: 'y' }] } },
      { create_microagent: { repo: 'a' } },
      { create_microagent: { repo: 'a', title: 't' } },
    ];
    assert.equal(new Set(different.map(textOf)).size, different.length);
  });
});

describe('the first message', () => {
  it('exists for every task type and provider, and names repository and number', () => {
    const seen = new Set<string>();
    for (const git_provider of gitProviders) {
      for (const task_type of taskTypes) {
        const task = { git_provider, task_type, repo: 'acme/shop', issue_number: 7, title: 'T' };
        const message = firstMessage({ suggested_task: task });
        assert.match(message, /acme\/shop/);
        if (task_type !== 'CREATE_MICROAGENT') assert.match(message, /#7/);
        assert.ok(!/undefined|null/.test(message), message);
        seen.add(message);
      }
    }
    assert.ok(seen.size > taskTypes.length);
  });

  it('is the own words alone where there is no task, and empty where there are none', () => {
    assert.equal(firstMessage({ initial_user_msg: 'hi' }), 'hi');
    assert.equal(firstMessage({}), '');
  });
});

describe('the subject', () => {
  it('keeps a repository that was given over that of the task', () => {
    const task = {
      git_provider: 'gitlab',
      task_type: 'OPEN_PR',
      repo: 'a/b',
      issue_number: 1,
      title: '',
    } as const;
    const subject = subjectOf({ repository: 'c/d', suggested_task: task }, false);
    assert.deepEqual([subject.repository, subject.gitProvider], ['c/d', 'gitlab']);
  });

  it('tells a key from a bearer credential', () => {
    assert.equal(subjectOf({}, false).trigger, 'gui');
    assert.equal(subjectOf({}, true).trigger, 'openhands_api');
  });
});

describe('the title', () => {
  it('is the start of the message, in whole characters', () => {
    assert.equal(titleOf('short', 'abcdef'), 'short');
    assert.equal(titleOf('a'.repeat(31), 'abcdef'), `${'a'.repeat(30)}...`);
    assert.equal(titleOf('👩'.repeat(40), 'abcdef'), `${'👩'.repeat(30)}...`);
    assert.equal(titleOf('two\n\n lines', 'abcdef'), 'two lines');
  });

  it('is the start of the id where there is no message', () => {
    assert.equal(titleOf('', 'abcdefgh'), 'Conversation abcde');
  });
});
