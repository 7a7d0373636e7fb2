// What a sign out asks about.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { emptyDraft } from '../home/newConversation.ts';
import { holdsWritten } from './typed.ts';

describe('a draft', () => {
  it('holds something once somebody has written, and not by choices alone', () => {
    for (const draft of [
      { ...emptyDraft },
      { ...emptyDraft, open: true, idempotencyKey: 'k' },
      { view: 'json' },
    ])
      assert.equal(holdsWritten(draft), false);
    for (const draft of [
      { ...emptyDraft, message: 'Hi' },
      { text: '', images: [{ name: 'a', url: 'b' }] },
    ])
      assert.equal(holdsWritten(draft), true);
  });
});
