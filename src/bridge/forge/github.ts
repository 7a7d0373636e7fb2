// GitHub and GitHub Enterprise, which have the same API.

import { listOf, numberAt, objectOf, textAt } from '../../text/foreignJson.ts';
import type { JsonObject } from '../../text/foreignText.ts';
import type { SendToForge } from './client.ts';
import { byTime, type Comment, type CreateForge, commentsPerPage, type Opened } from './forge.ts';

const perPage = String(commentsPerPage);
/** More pages are not read; the newest comments are missing then. */
const reviewPagesMax = 10;

function toOpened(request: unknown): Opened {
  return { number: numberAt(request, 'number') ?? 0, url: textAt(request, 'html_url') };
}

function toComment(comment: JsonObject): Comment {
  const path = textAt(comment, 'path');
  const line = numberAt(comment, 'line') ?? numberAt(comment, 'original_line');
  return {
    author: textAt(comment, 'user', 'login'),
    at: textAt(comment, 'created_at') || textAt(comment, 'submitted_at'),
    body: textAt(comment, 'body'),
    ...(path === '' ? {} : { place: line === undefined ? path : `${path}:${line}` }),
  };
}

/** Comments of an issue or pull request. They are sorted oldest first, so the last two pages are read. */
async function discussion(ask: SendToForge, issue: string, count: number): Promise<JsonObject[]> {
  const last = Math.max(1, Math.ceil(count / commentsPerPage));
  const pages = last === 1 ? [1] : [last - 1, last];
  const read = pages.map((page) =>
    ask(`${issue}/comments`, { query: { per_page: perPage, page: String(page) } }),
  );
  return (await Promise.all(read)).flatMap(listOf);
}

/**
 * Reviews of the whole pull request. They are sorted oldest first, and their number is unknown: of all pages the last
 * two are kept.
 */
async function wholeReviews(ask: SendToForge, request: string): Promise<JsonObject[]> {
  let kept: JsonObject[] = [];
  for (let page = 1; page <= reviewPagesMax; page++) {
    const query = { per_page: perPage, page: String(page) };
    const read = listOf(await ask(`${request}/reviews`, { query }));
    kept = [...kept.slice(-commentsPerPage), ...read];
    if (read.length < commentsPerPage) break;
  }
  return kept;
}

/** Review comments, on lines and on the whole. */
async function reviews(ask: SendToForge, request: string): Promise<JsonObject[]> {
  const newest = { per_page: perPage, sort: 'created', direction: 'desc' };
  const [lines, whole] = await Promise.all([
    ask(`${request}/comments`, { query: newest }),
    wholeReviews(ask, request),
  ]);
  return [...listOf(lines), ...whole].filter((one) => textAt(one, 'body') !== '');
}

export const createGithub: CreateForge = (ask, path) => {
  const repository = `/repos/${path}`;
  const [owner = ''] = path.split('/');
  return {
    defaultBranch: async () => textAt(await ask(repository), 'default_branch'),
    findOpen: async (branch, base) => {
      const query = { state: 'open', head: `${owner}:${branch}`, ...(base === undefined ? {} : { base }) };
      // Some servers ignore an unknown head as a filter, and forks may have branches of the same name.
      const found = listOf(await ask(`${repository}/pulls`, { query })).find(
        (one) =>
          textAt(one, 'head', 'ref') === branch &&
          textAt(one, 'head', 'repo', 'full_name') === textAt(one, 'base', 'repo', 'full_name'),
      );
      return found && toOpened(found);
    },
    open: async ({ title, body, branch, base }) =>
      toOpened(await ask(`${repository}/pulls`, { json: { title, body, head: branch, base } })),
    readThread: async (kind, number) => {
      const issue = `${repository}/issues/${number}`;
      const request = `${repository}/pulls/${number}`;
      const isRequest = kind === 'pull_request';
      const found = objectOf(await ask(isRequest ? request : issue));
      const said = await discussion(ask, issue, numberAt(found, 'comments') ?? 0);
      const reviewed = isRequest ? await reviews(ask, request) : [];
      const branches = { from: textAt(found, 'head', 'ref'), to: textAt(found, 'base', 'ref') };
      return {
        title: textAt(found, 'title'),
        url: toOpened(found).url,
        state: found['merged'] === true ? 'merged' : textAt(found, 'state'),
        author: textAt(found, 'user', 'login'),
        body: textAt(found, 'body'),
        ...(isRequest ? { branches } : {}),
        comments: byTime([...said, ...reviewed].map(toComment)),
      };
    },
  };
};
