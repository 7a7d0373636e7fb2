// The requests and replies of the program inside. Only types, because it shares no code with the service.

export interface InspectionBounds {
  /** Entries of a list of files or changes. */
  readonly entriesMax: number;
  /** The size of one file. */
  readonly fileBytesMax: number;
  /** Files and folders of an archive. */
  readonly zipEntriesMax: number;
  /** The size of all files of an archive, before compression. */
  readonly zipBytesMax: number;
  /** The size of a patch. */
  readonly patchBytesMax: number;
  /** The address space of each git process. */
  readonly gitAddressBytesMax: number;
}

export type Inspection =
  | { readonly command: 'changes' }
  | { readonly command: 'diff'; readonly path: string }
  | { readonly command: 'list'; readonly path: string }
  | { readonly command: 'read'; readonly path: string }
  | { readonly command: 'microagents' }
  | { readonly command: 'zip' }
  /** Changes since the base commit, or only those since the agent began. */
  | { readonly command: 'patch'; readonly from: 'base' | 'start' };

/** Inspections whose answers are streams of bytes. */
export type Download = Extract<Inspection, { command: 'zip' | 'patch' }>;

/** A file that instructs agents, as it is. */
export interface InstructionFile {
  readonly path: string;
  readonly text: string;
}

/** Read from standard input as JSON. */
export type InspectionRequest = Inspection & { readonly bounds: InspectionBounds };

/** Why there is no answer. The target of a link that leads out is `missing`. */
export type Refusal =
  | 'missing'
  | 'unreadable'
  | 'not_text'
  | 'too_large'
  | 'no_repository'
  | 'odd_repository'
  | 'not_fetched'
  | 'no_git';

/** Written to standard output as JSON. Archives and patches are written directly, and never start with a brace. */
export type InspectionReply = { readonly answer: unknown } | { readonly refused: Refusal };
