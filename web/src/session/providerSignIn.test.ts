import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { safePath } from './providerSignIn.ts';

describe('the return from the provider', () => {
  it('leads to a path of the web UI, and never to another origin', () => {
    for (const path of ['/', '/settings/model', '/conversations/a%2Fb']) assert.equal(safePath(path), path);
    for (const path of [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      'javascript:0',
      '',
      '/sign-in',
      5,
    ])
      assert.equal(safePath(path), '/', String(path));
  });
});
