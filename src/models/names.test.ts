import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadModels } from './catalogue.ts';
import { resolveModelName } from './names.ts';
import { findUpstream, nativeProtocol, plainModelName } from './providers.ts';

describe('a model name of existing clients', () => {
  const name = 'openhands/claude-sonnet-4-20250514';

  it('means the model of its provider', () => {
    assert.equal(resolveModelName(name), 'anthropic/claude-sonnet-4-20250514');
    assert.equal(resolveModelName('openhands/gpt-5'), 'openai/gpt-5');
    assert.equal(resolveModelName('openhands/devstral-small'), 'mistral/devstral-small');
    for (const other of ['openhands/unheard-of', 'anthropic/claude-opus-4-1', 'ollama/openhands/claude'])
      assert.equal(resolveModelName(other), other);
  });

  it('has the price, the API and the name of that model', () => {
    assert.deepEqual(loadModels().find(name), loadModels().find('anthropic/claude-sonnet-4-20250514'));
    assert.equal(nativeProtocol(name, null), 'anthropic');
    assert.equal(plainModelName(name), 'claude-sonnet-4-20250514');
    const found = findUpstream({ model: name, baseUrl: null, protocol: 'anthropic', modelHosts: {} });
    assert.ok('upstream' in found && found.upstream.base === 'https://api.anthropic.com');
  });
});
