// GitLab, where pull requests are called merge requests.

import { listOf, numberAt, objectOf, textAt } from '../../text/foreignJson.ts';
import type { JsonObject } from '../../text/foreignText.ts';
import { byTime, type Comment, type CreateForge, commentsPerPage, type Opened } from './forge.ts';

function toOpened(request: unknown): Opened {
  return { number: numberAt(request, 'iid') ?? 0, url: textAt(request, 'web_url') };
}

function toComment(note: JsonObject): Comment {
  const { position } = note;
  const path = textAt(position, 'new_path') || textAt(position, 'old_path');
  const line = numberAt(position, 'new_line') ?? numberAt(position, 'old_line');
  return {
    author: textAt(note, 'author', 'username'),
    at: textAt(note, 'created_at'),
    body: textAt(note, 'body'),
    ...(path === '' ? {} : { place: line === undefined ? path : `${path}:${line}` }),
    ...(note['resolvable'] === true ? { resolved: note['resolved'] === true } : {}),
  };
}

export const createGitlab: CreateForge = (ask, path) => {
  const project = `/projects/${encodeURIComponent(path)}`;
  const newest = { per_page: String(commentsPerPage), order_by: 'created_at', sort: 'desc' };
  return {
    defaultBranch: async () => textAt(await ask(project), 'default_branch'),
    findOpen: async (branch, base) => {
      const target = base === undefined ? {} : { target_branch: base };
      const query = { state: 'opened', source_branch: branch, ...target };
      const found = listOf(await ask(`${project}/merge_requests`, { query })).find(
        // Forks may have branches of the same name.
        (one) =>
          textAt(one, 'source_branch') === branch && one['source_project_id'] === one['target_project_id'],
      );
      return found && toOpened(found);
    },
    open: async ({ title, body, branch, base }) => {
      const json = { title, description: body, source_branch: branch, target_branch: base };
      return toOpened(await ask(`${project}/merge_requests`, { json }));
    },
    readThread: async (kind, number) => {
      const isRequest = kind === 'pull_request';
      const place = `${project}/${isRequest ? 'merge_requests' : 'issues'}/${number}`;
      const found = objectOf(await ask(place));
      const notes = listOf(await ask(`${place}/notes`, { query: newest }));
      const branches = { from: textAt(found, 'source_branch'), to: textAt(found, 'target_branch') };
      return {
        title: textAt(found, 'title'),
        url: toOpened(found).url,
        state: textAt(found, 'state'),
        author: textAt(found, 'author', 'username'),
        body: textAt(found, 'description'),
        ...(isRequest ? { branches } : {}),
        // System notes are about labels and the like.
        comments: byTime(notes.filter(({ system }) => system !== true).map(toComment)),
      };
    },
  };
};
