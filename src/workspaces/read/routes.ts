// GET …/git/changes, …/git/diff, …/git/patch, …/list-files, …/select-file and …/zip-directory of a conversation's workspace.

import type { FastifyRequest, preValidationHookHandler } from 'fastify';
import Type from 'typebox';
import { ConversationParams } from '../../conversations/id.ts';
import { type ErrorCode, invalid } from '../../errors.ts';
import { needs } from '../../http/access.ts';
import type { PassOn } from '../../http/passOn.ts';
import type { Server } from '../../http/routeTable.ts';
import { changesExample, diffExample, fileExample, filesExample, microagentsExample } from './examples.ts';
import {
  FileList,
  GitChanges,
  GitDiff,
  GitDiffQuery,
  ListFilesQuery,
  PatchQuery,
  SelectedFile,
  SelectFileQuery,
  WorkspaceMicroagents,
} from './schema.ts';
import type { WorkspaceRequest, Workspaces } from './service.ts';

const access = needs('conversations:read');
const tags = ['Workspaces'];
const errors: readonly ErrorCode[] = [
  'no_workspace',
  'snapshot_unusable',
  'answer_too_large',
  'overloaded',
  'no_sandbox',
  'node_unreachable',
];
const gitErrors: readonly ErrorCode[] = [...errors, 'no_repository'];

/** A repeated parameter is a list, for which the schema's message would be unclear. */
const once: preValidationHookHandler = ({ query }, _reply, done) => {
  const repeated = Object.entries(query as object).filter(([, value]) => Array.isArray(value));
  const details = repeated.map(([path]) => ({ path, message: 'must be sent only once' }));
  done(details.length === 0 ? undefined : invalid(details));
};

function askingOf({
  principal,
  params,
  response,
  isNodeGone,
}: FastifyRequest<{ Params: { id: string } }>): WorkspaceRequest {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return { principal, id: params.id, signal: gone.signal, isNodeGone };
}

function gitRoutes(app: Server, workspaces: Workspaces, passOn: PassOn): void {
  app.get(
    '/api/conversations/:id/git/changes',
    {
      preHandler: passOn,
      config: { access, document: { errors: gitErrors, responseExamples: { changes: changesExample } } },
      schema: {
        tags,
        operationId: 'getGitChanges',
        summary: 'List changed files',
        description:
          'Lists all files that have changed since the conversation began, committed or not, including untracked files and repositories in subfolders.',
        params: ConversationParams,
        response: { 200: GitChanges },
      },
    },
    async (request) => workspaces.changes(askingOf(request)),
  );

  app.get(
    '/api/conversations/:id/git/diff',
    {
      preValidation: once,
      preHandler: passOn,
      config: {
        access,
        document: { errors: [...gitErrors, 'binary_file'], responseExamples: { diff: diffExample } },
      },
      schema: {
        tags,
        operationId: 'getGitDiff',
        summary: 'Read the diff of a file',
        description:
          'Returns both versions of a file that `git/changes` lists. One is empty if the file was added or deleted.',
        params: ConversationParams,
        querystring: GitDiffQuery,
        response: { 200: GitDiff },
      },
    },
    async (request) => workspaces.diff(askingOf(request), request.query.path),
  );
}

function fileRoutes(app: Server, workspaces: Workspaces, passOn: PassOn): void {
  app.get(
    '/api/conversations/:id/list-files',
    {
      preValidation: once,
      preHandler: passOn,
      config: { access, document: { errors, responseExamples: { files: filesExample } } },
      schema: {
        tags,
        operationId: 'listFiles',
        summary: 'List a folder',
        description:
          'Returns paths relative to the workspace; folders come first and end with a slash. Not included: .git, .DS_Store, node_modules, .venv, lost+found and .vscode.',
        params: ConversationParams,
        querystring: ListFilesQuery,
        response: { 200: FileList },
      },
    },
    async (request) => workspaces.list(askingOf(request), request.query.path ?? ''),
  );

  app.get(
    '/api/conversations/:id/select-file',
    {
      preValidation: once,
      preHandler: passOn,
      config: {
        access,
        document: { errors: [...errors, 'binary_file'], responseExamples: { file: fileExample } },
      },
      schema: {
        tags,
        operationId: 'selectFile',
        summary: 'Read a file',
        description: 'Returns UTF-8 text of at most 1 MiB.',
        params: ConversationParams,
        querystring: SelectFileQuery,
        response: { 200: SelectedFile },
      },
    },
    async (request) => workspaces.read(askingOf(request), request.query.file),
  );
}

function microagentsRoute(app: Server, workspaces: Workspaces, passOn: PassOn): void {
  app.get(
    '/api/conversations/:id/microagents',
    {
      preHandler: passOn,
      config: { access, document: { errors, responseExamples: { microagents: microagentsExample } } },
      schema: {
        tags,
        operationId: 'listWorkspaceMicroagents',
        summary: 'List microagents of the workspace',
        description:
          'Returns what instructs agents in this workspace: AGENTS.md, .openhands_instructions and the files in .openhands/microagents, at most 50 files of 32 KiB.',
        params: ConversationParams,
        response: { 200: WorkspaceMicroagents },
      },
    },
    async (request) => workspaces.microagents(askingOf(request)),
  );
}

function patchRoute(app: Server, workspaces: Workspaces, passOn: PassOn): void {
  app.get(
    '/api/conversations/:id/git/patch',
    {
      preValidation: once,
      preHandler: passOn,
      config: {
        access,
        document: {
          errors: gitErrors,
          responses: {
            200: {
              description: 'A patch.',
              mediaType: 'text/x-patch',
              anyOf: [Type.Unsafe<string>({ type: 'string', format: 'binary' })],
            },
          },
        },
      },
      schema: {
        tags,
        operationId: 'getGitPatch',
        summary: 'Download all changes as a patch',
        description:
          'Returns a patch for `git apply` with all changes of the workspace, committed or not, binary and untracked files included, at most 64 MiB. Its first line is `# base: ` with the commit that the conversation began at, or `none`. Repositories in subfolders are not included.',
        params: ConversationParams,
        querystring: PatchQuery,
      },
    },
    async (request, reply) => {
      const patch = await workspaces.patch(askingOf(request), request.query.from);
      reply.type('text/x-patch').header('content-disposition', 'attachment; filename="workspace.patch"');
      if (request.method !== 'HEAD') return reply.send(patch);
      patch.destroy();
      return reply.send();
    },
  );
}

function archiveRoute(app: Server, workspaces: Workspaces, passOn: PassOn): void {
  app.get(
    '/api/conversations/:id/zip-directory',
    {
      preHandler: passOn,
      config: {
        access,
        document: {
          errors,
          responses: {
            200: {
              description: 'A zip archive.',
              mediaType: 'application/zip',
              anyOf: [Type.Unsafe<string>({ type: 'string', format: 'binary' })],
            },
          },
        },
      },
      schema: {
        tags,
        operationId: 'zipDirectory',
        summary: 'Download the workspace',
        description:
          'Returns a zip archive without .git, links and unreadable files, with at most 50,000 files and folders and 1 GiB. An interrupted response is not a valid archive.',
        params: ConversationParams,
      },
    },
    async (request, reply) => {
      const archive = await workspaces.archive(askingOf(request));
      reply.type('application/zip').header('content-disposition', 'attachment; filename="workspace.zip"');
      if (request.method !== 'HEAD') return reply.send(archive);
      archive.destroy();
      return reply.send();
    },
  );
}

export function workspaceRoutes(app: Server, workspaces: Workspaces, passOn: PassOn): void {
  gitRoutes(app, workspaces, passOn);
  fileRoutes(app, workspaces, passOn);
  microagentsRoute(app, workspaces, passOn);
  patchRoute(app, workspaces, passOn);
  archiveRoute(app, workspaces, passOn);
}
