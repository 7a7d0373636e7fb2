import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseMicroagent } from './microagents.ts';

describe('a microagent file', () => {
  it('has triggers as a list or in brackets, with or without quotes', () => {
    const listed = parseMicroagent('---\nname: x\ntriggers:\n- Deploy\n  - "ship it"\n---\nText.\n');
    assert.deepEqual(listed, { content: 'Text.', triggers: ['Deploy', 'ship it'] });
    const inline = parseMicroagent("---\r\ntriggers: [a, 'b']\r\n---\r\nText.");
    assert.deepEqual(inline, { content: 'Text.', triggers: ['a', 'b'] });
  });

  it('has none without front matter, and may be nothing but front matter', () => {
    assert.deepEqual(parseMicroagent('# Title\n---\n'), { content: '# Title\n---', triggers: [] });
    assert.deepEqual(parseMicroagent('---\ntriggers: [a]\n---'), { content: '', triggers: ['a'] });
  });
});
