// What becomes of what was typed for a new conversation.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ParleyError } from '../../../src/client/parley.ts';
import {
  besideFields,
  type Draft,
  emptyDraft,
  faultsOf,
  isFolded,
  readMcp,
  storableDraft,
  toRequest,
} from './newConversation.ts';

const draft: Draft = { ...emptyDraft, message: 'Hi', repository: ' a/b ', mcp: '{"sse_servers": []}' };

function refusalOf(...paths: readonly string[]): ParleyError {
  const details = paths.map((path) => ({ path, message: 'is wrong' }));
  return new ParleyError('invalid', 'Something is wrong.', { status: 400, details });
}

describe('a new conversation', () => {
  it('is sent without what was left empty', () => {
    assert.deepEqual(toRequest(draft, readMcp(draft.mcp) ?? null), {
      initial_user_msg: 'Hi',
      image_urls: null,
      repository: 'a/b',
      selected_branch: null,
      conversation_instructions: null,
      mcp_config: { sse_servers: [] },
    });
    assert.deepEqual([readMcp(' '), readMcp('{')], [null, undefined]);
  });

  it('stores tool servers, unless they may hold a key', () => {
    assert.equal(storableDraft(draft), draft);
    for (const mcp of [
      '{"sse_servers": [{"url": "https://a", "api_key": "k"}]}',
      '{"stdio_servers": [{"env": {"A',
    ])
      assert.deepEqual(storableDraft({ ...draft, mcp }), { ...draft, mcp: '' });
  });

  it('has its faults at the fields, until those are edited', () => {
    const error = refusalOf('selected_branch', 'mcp_config.sse_servers[0].url');
    const faults = { branch: 'is wrong', mcp: 'sse_servers[0].url is wrong' };
    assert.partialDeepStrictEqual(faultsOf(error, draft, draft), faults);
    const edited = faultsOf(error, draft, { ...draft, branch: 'main' });
    assert.deepEqual([edited.branch, edited.mcp], [undefined, faults.mcp]);
    assert.equal(faultsOf(error, undefined, draft).mcp, undefined);
  });

  it('says a fault once: at its field, or below where it has none', () => {
    const shown = refusalOf('repository');
    const folded = refusalOf('conversation_instructions');
    const elsewhere = refusalOf('repository', 'initial_user_msg');
    assert.deepEqual([shown, folded, elsewhere].map(besideFields), [undefined, undefined, elsewhere]);
    assert.deepEqual([shown, folded, elsewhere].map(isFolded), [false, true, false]);
    const lost = new ParleyError('network', 'Gone.');
    assert.equal(besideFields(lost), lost);
  });
});
