import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { emptyDraft } from '../home/newConversation.ts';
import { hasUnsentText } from './unsavedText.ts';

describe('a draft', () => {
  it('has unsent text if the user has typed or added images, not if they only chose options', () => {
    for (const draft of [
      { ...emptyDraft },
      { ...emptyDraft, open: true, idempotencyKey: 'k' },
      { view: 'json' },
    ])
      assert.equal(hasUnsentText(draft), false);
    for (const draft of [
      { ...emptyDraft, message: 'Hi' },
      { text: '', images: [{ name: 'a', url: 'b' }] },
    ])
      assert.equal(hasUnsentText(draft), true);
  });
});
