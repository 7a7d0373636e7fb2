// Calls about the files of a conversation. They throw `no_workspace` where there are none yet, or elsewhere.
import { readBlob } from './answers.ts';
import { type CallOptions, pathOf } from './conversations.ts';
import { type Connection, request, requestJson } from './request.ts';
import type { GitChange, GitDiff } from './types.ts';

export function workspaceCalls(connection: Connection) {
  return {
    /** The files that differ from origin. */
    changes: (id: string, { signal }: CallOptions = {}): Promise<GitChange[]> =>
      requestJson<GitChange[]>(connection, pathOf(id, '/git/changes'), { signal }),

    /** One file, before and after. Throws `binary_file` where it is not text. */
    diff: (id: string, path: string, { signal }: CallOptions = {}): Promise<GitDiff> =>
      requestJson<GitDiff>(connection, pathOf(id, '/git/diff'), { query: { path }, signal }),

    /** The names in a folder; those of folders end with a slash. */
    files: (id: string, path?: string, { signal }: CallOptions = {}): Promise<string[]> =>
      requestJson<string[]>(connection, pathOf(id, '/list-files'), { query: { path }, signal }),

    /** The text of a file. Throws `binary_file` where it is not text. */
    file: async (id: string, file: string, { signal }: CallOptions = {}): Promise<string> => {
      const ask = { query: { file }, signal };
      return (await requestJson<{ code: string }>(connection, pathOf(id, '/select-file'), ask)).code;
    },

    /** All of it, as an archive. */
    zip: (id: string, { signal }: CallOptions = {}): Promise<Blob> =>
      request(connection, pathOf(id, '/zip-directory'), { signal, isLong: true }, readBlob),
  };
}
