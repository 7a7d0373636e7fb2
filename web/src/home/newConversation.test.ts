import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ParleyError } from '../../../src/client/parley.ts';
import { en } from '../texts/en.ts';
import {
  checkDraft,
  type Draft,
  emptyDraft,
  errorOutsideFields,
  errorsOfUneditedFields,
  hasHiddenFieldError,
  serviceFieldErrors,
  storableDraft,
  toRequest,
} from './newConversation.ts';

const draft: Draft = { ...emptyDraft, message: 'Hi', repository: ' a/b ', mcp: '{"sse_servers": []}' };

function refusalOf(...paths: readonly string[]): ParleyError {
  const details = paths.map((path) => ({ path, message: 'is wrong' }));
  return new ParleyError('invalid', 'Something is wrong.', { status: 400, details });
}

describe('a new conversation', () => {
  it('is sent without empty fields', () => {
    assert.deepEqual(toRequest(draft, checkDraft(draft, en.home).mcp), {
      initial_user_msg: 'Hi',
      image_urls: null,
      repository: 'a/b',
      selected_branch: null,
      conversation_instructions: null,
      mcp_config: { sse_servers: [] },
      agent: null,
      llm_model: null,
      confirmation_mode: null,
    });
  });

  it('names its agent, model and approval mode if they were chosen', () => {
    const chosen = (part: Partial<Draft>) => {
      const { agent, llm_model, confirmation_mode } = toRequest({ ...emptyDraft, ...part }, null);
      return [agent, llm_model, confirmation_mode];
    };
    assert.deepEqual(chosen({ agent: '', model: ' openai/gpt-5 ' }), ['builtin', 'openai/gpt-5', null]);
    assert.deepEqual(chosen({ agent: 'claude', approval: 'off' }), ['claude', null, false]);
    assert.deepEqual(chosen({ approval: 'on' }), [null, null, true]);
  });

  it('is checked before it is sent, and each error stays until its field is edited', () => {
    const check = (part: Partial<Draft>) => checkDraft({ ...emptyDraft, ...part }, en.home);
    assert.deepEqual(check({}), { mcp: null, fieldErrors: {} });
    const wrong = { ...emptyDraft, repository: 'not a repo!!', mcp: '{' };
    const { fieldErrors } = check(wrong);
    assert.deepEqual(fieldErrors, { repository: en.home.repositoryInvalid, mcp: en.home.mcpInvalid });
    assert.deepEqual(errorsOfUneditedFields(fieldErrors, wrong, { ...wrong, repository: 'a/b' }), {
      mcp: en.home.mcpInvalid,
    });
  });

  it('also accepts MCP servers in the mcpServers format', () => {
    const mcp = '{"mcpServers": {"a": {"url": "https://a"}}}';
    const { mcp: read } = checkDraft({ ...emptyDraft, mcp }, en.home);
    assert.deepEqual(read?.shttp_servers, [{ url: 'https://a' }]);
    const foreign = checkDraft({ ...emptyDraft, mcp: '{"mcpServers": {"a": {"cwd": "/"}}}' }, en.home);
    assert.equal(foreign.fieldErrors.mcp, en.home.mcpUnsupported('mcpServers.a.cwd'));
  });

  it('stores MCP servers unless they may contain a key', () => {
    assert.equal(storableDraft(draft), draft);
    for (const mcp of [
      '{"sse_servers": [{"url": "https://a", "api_key": "k"}]}',
      '{"stdio_servers": [{"env": {"A',
    ])
      assert.deepEqual(storableDraft({ ...draft, mcp }), { ...draft, mcp: '' });
  });

  it('shows errors of the service at their fields until those are edited', () => {
    const error = refusalOf('selected_branch', 'mcp_config.sse_servers[0].url');
    const fieldErrors = { branch: 'is wrong', mcp: 'sse_servers[0].url is wrong' };
    assert.partialDeepStrictEqual(serviceFieldErrors(error, draft, draft), fieldErrors);
    const edited = serviceFieldErrors(error, draft, { ...draft, branch: 'main' });
    assert.deepEqual([edited.branch, edited.mcp], [undefined, fieldErrors.mcp]);
    assert.equal(serviceFieldErrors(error, undefined, draft).mcp, undefined);
  });

  it('shows an error once: at its field, or below the form if it has none', () => {
    const shown = refusalOf('repository');
    const collapsed = refusalOf('conversation_instructions');
    const elsewhere = refusalOf('repository', 'initial_user_msg');
    assert.deepEqual([shown, collapsed, elsewhere].map(errorOutsideFields), [
      undefined,
      undefined,
      elsewhere,
    ]);
    assert.deepEqual([shown, collapsed, elsewhere].map(hasHiddenFieldError), [false, true, false]);
    const lost = new ParleyError('network', 'Gone.');
    assert.equal(errorOutsideFields(lost), lost);
  });
});
