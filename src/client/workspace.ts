// Calls about the files of a conversation. They throw `no_workspace` if the server has no workspace for it.

import { type CallOptions, pathOf } from './conversations.ts';
import { type Connection, request, requestJson } from './request.ts';
import { readBlob } from './responses.ts';
import type { GitChange, GitDiff, WorkspaceMicroagents } from './types.ts';

export function workspaceCalls(connection: Connection) {
  return {
    /** Returns the files that differ from origin. */
    changes: (id: string, { signal }: CallOptions = {}): Promise<GitChange[]> =>
      requestJson<GitChange[]>(connection, pathOf(id, '/git/changes'), { signal }),

    /** Returns one file before and after the change. Throws `binary_file` if it is not text. */
    diff: (id: string, path: string, { signal }: CallOptions = {}): Promise<GitDiff> =>
      requestJson<GitDiff>(connection, pathOf(id, '/git/diff'), { query: { path }, signal }),

    /** Returns the names in a folder. Names of folders end with a slash. */
    files: (id: string, path?: string, { signal }: CallOptions = {}): Promise<string[]> =>
      requestJson<string[]>(connection, pathOf(id, '/list-files'), { query: { path }, signal }),

    /** Returns the text of a file. Throws `binary_file` if it is not text. */
    file: async (id: string, file: string, { signal }: CallOptions = {}): Promise<string> => {
      const options = { query: { file }, signal };
      return (await requestJson<{ code: string }>(connection, pathOf(id, '/select-file'), options)).code;
    },

    /** Returns what instructs agents in the workspace. */
    microagents: (id: string, { signal }: CallOptions = {}): Promise<WorkspaceMicroagents> =>
      requestJson<WorkspaceMicroagents>(connection, pathOf(id, '/microagents'), { signal }),

    /** Returns all changes as a patch for `git apply`; with `start`, only those since the agent began. */
    patch: (id: string, from: 'base' | 'start' = 'base', { signal }: CallOptions = {}): Promise<Blob> =>
      request(connection, pathOf(id, '/git/patch'), { query: { from }, signal, isLong: true }, readBlob),

    /** Returns the whole workspace as an archive. */
    zip: (id: string, { signal }: CallOptions = {}): Promise<Blob> =>
      request(connection, pathOf(id, '/zip-directory'), { signal, isLong: true }, readBlob),
  };
}
