import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openBeside, openIn, panesUrl, readPanes } from './paneUrls.ts';

describe('the URL of open conversations', () => {
  it('names one or two, whatever characters their ids have', () => {
    for (const ids of [['a'], ['a', 'b'], ['x:1', 'y&z=ü'], []]) {
      const { pathname, search } = new URL(panesUrl(ids), 'http://localhost');
      assert.deepEqual(readPanes(pathname, search), ids);
    }
  });

  it('names none on other screens, and never the same twice', () => {
    assert.deepEqual(readPanes('/settings/model', '?beside=b'), []);
    assert.deepEqual(readPanes('/conversations/a', '?beside=a'), ['a']);
    assert.deepEqual(readPanes('/conversations/%E0%A4%A', '?beside='), ['%E0%A4%A']);
  });
});

describe('opening a conversation', () => {
  it('replaces that of the pane, unless it is open already', () => {
    assert.deepEqual(openIn([], 0, 'c'), ['c']);
    assert.deepEqual(openIn(['a', 'b'], 1, 'c'), ['a', 'c']);
    assert.deepEqual(openIn(['a', 'b'], 1, 'a'), ['a', 'b']);
  });

  it('beside another keeps the one of the pane', () => {
    assert.deepEqual(openBeside([], 0, 'c'), ['c']);
    assert.deepEqual(openBeside(['a'], 0, 'c'), ['a', 'c']);
    assert.deepEqual(openBeside(['a', 'b'], 1, 'c'), ['b', 'c']);
    assert.deepEqual(openBeside(['a', 'b'], 1, 'a'), ['a', 'b']);
  });
});
