import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matchesWords } from './words.ts';

describe('a command', () => {
  it('is found by all of its words, in any order and case', () => {
    assert.ok(matchesWords('Settings: API keys', 'keys SET'));
    assert.ok(matchesWords('Settings: API keys', ''));
    assert.ok(!matchesWords('Settings: API keys', 'keys model'));
  });
});
