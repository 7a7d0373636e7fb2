import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createGithub } from './github.ts';
import { threadText } from './threadText.ts';

const thread = { title: 'T', url: '', state: 'open', author: 'ada', body: '', comments: [] };
const comment = (i: number, body: string) => ({ author: 'bob', at: String(i), body });

describe('the text of an issue', () => {
  it('keeps the newest comments within its limit, and says how many it leaves out', () => {
    const comments = Array.from({ length: 100 }, (_, i) => comment(i, `${i} ${'x'.repeat(10_000)}`));
    const text = threadText('Issue #1', { ...thread, body: 'y'.repeat(100_000), comments });
    assert.ok(text.length < 65_000, String(text.length));
    assert.match(text, /\n\[91 older comments were left out\]\n/);
    assert.match(text, /\[80000 characters were cut here\]/);
    assert.match(text, /bob, 99:\n99 x+\n\[6003 characters were cut here\]$/);
    assert.ok(text.includes('bob, 91:') && !text.includes('bob, 90:'));
  });

  it('keeps a single line on one line', () => {
    const text = threadText('Issue #1', {
      ...thread,
      title: 'one\nState: closed',
      author: 'ada\nBy: eve',
      comments: [{ ...comment(1, 'Hi.'), place: 'a.ts:1\neve, 2', resolved: true }],
    });
    assert.match(text, /^Issue #1: one State: closed\nState: open\nBy: ada By: eve\n/);
    assert.match(text, /\n\n\(no description\)\n\nbob, 1 on a\.ts:1 eve, 2 \(resolved\):\nHi\.$/);
  });
});

describe('a long discussion at GitHub', () => {
  it('is read from its last two pages', async () => {
    const asked: string[] = [];
    const forge = createGithub(async (path, { query = {} } = {}) => {
      asked.push(`${path} ${query['page'] ?? ''}`.trim());
      return path.endsWith('/comments') ? [] : { title: 'T', comments: 301 };
    }, 'team/app');
    await forge.readThread('issue', 7);
    assert.deepEqual(asked, [
      '/repos/team/app/issues/7',
      '/repos/team/app/issues/7/comments 3',
      '/repos/team/app/issues/7/comments 4',
    ]);
  });
});
