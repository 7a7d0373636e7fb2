// What the program inside is asked, and what it says. Types alone: it shares no code with the service.

export interface InspectionBounds {
  /** Of a list of files or changes. */
  readonly entriesMax: number;
  /** Of one file that is shown. */
  readonly fileBytesMax: number;
  /** Files and folders of an archive. */
  readonly zipEntriesMax: number;
  /** Of all files of an archive, before they are compressed. */
  readonly zipBytesMax: number;
  /** What each git process may map. */
  readonly gitAddressBytesMax: number;
}

export type Inspection =
  | { readonly command: 'changes' }
  | { readonly command: 'diff'; readonly path: string }
  | { readonly command: 'list'; readonly path: string }
  | { readonly command: 'read'; readonly path: string }
  | { readonly command: 'zip' };

/** Read from the standard input as JSON. */
export type InspectionRequest = Inspection & { readonly bounds: InspectionBounds };

/** Why there is no answer. What a link out leads to is `missing`. */
export type Refusal =
  | 'missing'
  | 'unreadable'
  | 'not_text'
  | 'too_large'
  | 'no_repository'
  | 'odd_repository'
  | 'not_fetched'
  | 'no_git';

/** Written to the standard output as JSON; an archive is written as it is, and never starts with a brace. */
export type InspectionReply = { readonly answer: unknown } | { readonly refused: Refusal };
