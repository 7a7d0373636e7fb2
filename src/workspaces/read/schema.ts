// Requests and responses for workspaces.
import Type from 'typebox';
import { checked, kib, oneOf, text } from '../../validation/schema.ts';
import { withoutWorkspace } from '../paths.ts';

const pathBytesMax = 4 * kib;

function pathFault(sent: string): string | undefined {
  const path = withoutWorkspace(sent);
  if (path.startsWith('/')) return 'must be relative to the workspace, or below /workspace';
  if (path.split('/').includes('..')) return 'must not contain ".."';
  return undefined;
}

function path(description: string, lengthMin: number) {
  return checked(text({ bytesMax: pathBytesMax, lengthMin, description }), pathFault);
}

export const ListFilesQuery = Type.Object({
  path: Type.Optional(path('A folder in the workspace. Default: the workspace itself.', 0)),
});

export const SelectFileQuery = Type.Object({ file: path('A file in the workspace.', 1) });

export const GitDiffQuery = Type.Object({
  path: path('A file in the workspace, which may have been deleted.', 1),
});

export const PatchQuery = Type.Object({
  from: Type.Optional(
    oneOf(['base', 'start'], {
      description:
        '`base`: everything since the commit at which the conversation began. `start`: without the changes that came with the workspace (`workspace_patch`).',
      default: 'base',
    }),
  ),
});
export type PatchQuery = Type.Static<typeof PatchQuery>;

export const GitChange = Type.Object(
  {
    status: oneOf(['M', 'A', 'D'], {
      description:
        'M: modified or in conflict. A: added or untracked. D: deleted. A renamed file is D and A.',
    }),
    path: Type.String(),
  },
  { $id: 'GitChange', additionalProperties: false },
);
export type GitChange = Type.Static<typeof GitChange>;
export const GitChanges = Type.Array(GitChange);

export const GitDiff = Type.Object(
  {
    modified: Type.String({ description: 'The current content; empty if the file was deleted.' }),
    original: Type.String({ description: 'The original content; empty if the file is new.' }),
  },
  { $id: 'GitDiff', additionalProperties: false },
);
export type GitDiff = Type.Static<typeof GitDiff>;

export const WorkspaceMicroagents = Type.Object(
  {
    microagents: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          type: oneOf(['repo', 'knowledge'], {
            description:
              'A `knowledge` microagent applies if a message contains one of its triggers, a `repo` one always.',
          }),
          content: Type.String({ description: 'The text without its front matter.' }),
          triggers: Type.Array(Type.String()),
          inputs: Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'Always empty.' }),
          tools: Type.Array(Type.String(), { description: 'Always empty.' }),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { $id: 'WorkspaceMicroagents', additionalProperties: false },
);
export type WorkspaceMicroagents = Type.Static<typeof WorkspaceMicroagents>;

export const FileList = Type.Array(Type.String());

export const SelectedFile = Type.Object(
  { code: Type.String() },
  { $id: 'SelectedFile', additionalProperties: false },
);
export type SelectedFile = Type.Static<typeof SelectedFile>;
