// What the service sends to the program inside, and its reply. The service sends frames: a type, the length of the
// payload in four bytes, and the payload.

export const frameTypes = {
  /** A file begins; the payload is its name in UTF-8. */
  file: 1,
  /** A piece of the file. */
  data: 2,
  /** All files are complete. Without it, nothing is kept. */
  commit: 3,
} as const;

export const frameHeaderBytes = 5;
export const frameBytesMax = 1_048_576;
/** Files that are not complete yet. */
export const partialPrefix = '.parley-upload-';

export interface WrittenFile {
  /** The name that the file was sent with. */
  readonly sent: string;
  /** Its name in the workspace. */
  readonly name: string;
}

export type WriteRefusal =
  /** The disk is full, or a file is larger than the sandbox allows. */
  | 'full'
  /** Something in the workspace prevents it, such as permissions. */
  | 'unwritable'
  /** Too many files have the same name. */
  | 'taken';

/** Written to standard output as JSON. Nothing is written if the frames end without a commit. */
export type WriteReply = { readonly written: readonly WrittenFile[] } | { readonly refused: WriteRefusal };
