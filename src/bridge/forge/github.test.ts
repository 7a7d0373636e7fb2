import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SendToForge } from './client.ts';
import { createGithub } from './github.ts';

const requestFrom = (fullName: string | null, number: number) => ({
  number,
  html_url: `https://git.example/${number}`,
  head: { ref: 'work', repo: fullName === null ? null : { full_name: fullName } },
  base: { ref: 'trunk', repo: { full_name: 'team/app' } },
});

/** A pull request with so many reviews, a page at a time, the oldest first. */
function askAboutReviews(count: number, pages: string[]): SendToForge {
  return async (path, { query = {} } = {}) => {
    if (path.endsWith('/comments')) return [];
    if (!path.endsWith('/reviews')) return { title: 'Mend it', comments: 0 };
    const page = Number(query['page'] ?? 1);
    pages.push(String(page));
    const from = (page - 1) * 100;
    return Array.from({ length: Math.max(0, Math.min(100, count - from)) }, (_, i) => ({
      user: { login: 'bob' },
      submitted_at: new Date(1_000 * (from + i)).toISOString(),
      body: `review ${from + i + 1}`,
    }));
  };
}

describe('GitHub', () => {
  it('does not count the pull request of a fork', async () => {
    const forks = [requestFrom('eve/app', 1), requestFrom(null, 2)];
    const find = (answer: unknown) =>
      createGithub(async () => answer, 'team/app').findOpen('work', undefined);
    assert.equal(await find(forks), undefined);
    assert.equal((await find([...forks, requestFrom('team/app', 3)]))?.number, 3);
  });

  for (const [count, oldest, pagesRead] of [
    [3, 1, 1],
    [100, 1, 2],
    [250, 101, 3],
    [5_000, 801, 10],
  ] as const)
    it(`gives the newest of ${count} reviews, as far as pages are read`, async () => {
      const pages: string[] = [];
      const forge = createGithub(askAboutReviews(count, pages), 'team/app');
      const { comments } = await forge.readThread('pull_request', 8);
      assert.equal(comments[0]?.body, `review ${oldest}`);
      assert.equal(comments.at(-1)?.body, `review ${Math.min(count, 1_000)}`);
      assert.equal(pages.length, pagesRead);
    });
});
