// The response to an upload.
import Type from 'typebox';

export const SkippedFile = Type.Object(
  { name: Type.String(), reason: Type.String() },
  { $id: 'SkippedFile', additionalProperties: false },
);
export type SkippedFile = Type.Static<typeof SkippedFile>;

export const UploadedFile = Type.Object(
  {
    name: Type.String({ description: 'The name that the file was sent with.' }),
    path: Type.String({
      description: 'Its path in the sandbox. Send it in `file_urls` of a message to point the agent to it.',
    }),
  },
  { $id: 'UploadedFile', additionalProperties: false },
);
export type UploadedFile = Type.Static<typeof UploadedFile>;

export const Upload = Type.Object(
  {
    files: Type.Array(UploadedFile),
    skipped: Type.Array(SkippedFile, { description: 'Files whose names are not accepted.' }),
    staged: Type.Boolean({
      description:
        'The conversation is not running: the files are put into its workspace when it starts, before the agent reads a message.',
    }),
  },
  { $id: 'Upload', additionalProperties: false },
);
export type Upload = Type.Static<typeof Upload>;
