// Bitbucket Cloud.

import { listOf, numberAt, objectOf, textAt } from '../../text/foreignJson.ts';
import type { JsonObject } from '../../text/foreignText.ts';
import { byTime, type Comment, type CreateForge, commentsPerPage, type Opened } from './forge.ts';

function toOpened(request: unknown): Opened {
  return { number: numberAt(request, 'id') ?? 0, url: textAt(request, 'links', 'html', 'href') };
}

function toComment(comment: JsonObject): Comment {
  const { inline } = comment;
  const path = textAt(inline, 'path');
  const line = numberAt(inline, 'to') ?? numberAt(inline, 'from');
  return {
    author: textAt(comment, 'user', 'display_name'),
    at: textAt(comment, 'created_on'),
    body: textAt(comment, 'content', 'raw'),
    ...(path === '' ? {} : { place: line === undefined ? path : `${path}:${line}` }),
    ...('resolution' in comment ? { resolved: comment['resolution'] !== null } : {}),
  };
}

/** A string in its query language. */
const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`;

export const createBitbucket: CreateForge = (ask, path) => {
  const repository = `/repositories/${path}`;
  const newest = { pagelen: String(commentsPerPage), sort: '-created_on' };
  const branchNamed = (name: string) => ({ branch: { name } });
  return {
    defaultBranch: async () => textAt(await ask(repository), 'mainbranch', 'name'),
    findOpen: async (branch, base) => {
      const wanted = [
        'state = "OPEN"',
        `source.branch.name = ${quoted(branch)}`,
        ...(base === undefined ? [] : [`destination.branch.name = ${quoted(base)}`]),
      ];
      const answer = await ask(`${repository}/pullrequests`, { query: { q: wanted.join(' AND ') } });
      const found = listOf(objectOf(answer)['values']).find(
        (one) =>
          textAt(one, 'source', 'branch', 'name') === branch &&
          // Forks may have branches of the same name.
          textAt(one, 'source', 'repository', 'full_name') ===
            textAt(one, 'destination', 'repository', 'full_name'),
      );
      return found && toOpened(found);
    },
    open: async ({ title, body, branch, base }) => {
      const json = {
        title,
        description: body,
        source: branchNamed(branch),
        destination: branchNamed(base),
      };
      return toOpened(await ask(`${repository}/pullrequests`, { json }));
    },
    readThread: async (kind, number) => {
      const isRequest = kind === 'pull_request';
      const place = `${repository}/${isRequest ? 'pullrequests' : 'issues'}/${number}`;
      const found = objectOf(await ask(place));
      const comments = listOf(objectOf(await ask(`${place}/comments`, { query: newest }))['values']);
      const branches = {
        from: textAt(found, 'source', 'branch', 'name'),
        to: textAt(found, 'destination', 'branch', 'name'),
      };
      const written = comments.filter(
        (one) => one['deleted'] !== true && textAt(one, 'content', 'raw') !== '',
      );
      return {
        title: textAt(found, 'title'),
        url: toOpened(found).url,
        state: textAt(found, 'state'),
        author: textAt(found, isRequest ? 'author' : 'reporter', 'display_name'),
        body: isRequest ? textAt(found, 'description') : textAt(found, 'content', 'raw'),
        ...(isRequest ? { branches } : {}),
        comments: byTime(written.map(toComment)),
      };
    },
  };
};
