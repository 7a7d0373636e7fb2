// What the two programs inside exchange with the service: a snapshot is a few sections, each a stream of bytes that is
// cut into compressed pieces. The service stores and returns the pieces without unpacking them.

/** In the order in which they are restored. */
export const sectionTypes = {
  /** Instead of the rest: a `TakeRefusal` as text. */
  refused: 0,
  /** A `Manifest` as JSON. */
  manifest: 1,
  /** A pack of the Git objects that the remote does not have. */
  pack: 2,
  /** The index of the repository, as it is. */
  index: 3,
  /** A tar archive of files in the workspace. */
  files: 4,
  /** A tar archive of files in `.git`, without objects and references. */
  git: 5,
  /** A tar archive of the home folder. */
  home: 6,
  /** After the last piece: a `Summary` as JSON, not compressed. */
  end: 7,
} as const;

export type Section = Exclude<keyof typeof sectionTypes, 'end' | 'refused'>;

export const sections = (Object.keys(sectionTypes) as (keyof typeof sectionTypes)[]).filter(
  (name): name is Section => name !== 'end' && name !== 'refused',
);

/** Each piece is a frame: its type, the length of the payload in four bytes, and the payload. */
export const frameHeaderBytes = 5;

/** Pieces end where their content says so, so that a change does not move the ends of all pieces after it. */
export const pieceBytes = { min: 262_144, max: 4_194_304 } as const;
/** A piece that cannot be compressed grows a little. */
export const frameBytesMax = pieceBytes.max + 65_536;

export interface SnapshotLimits {
  /** All sections together, before compression. */
  readonly bytesMax: number;
  /** Files, folders and links. */
  readonly filesMax: number;
  /** One file. */
  readonly fileBytesMax: number;
  /** The address space of each git process. */
  readonly gitAddressBytesMax: number;
}

/** Read from standard input as JSON by the program that takes snapshots. */
export interface TakeRequest {
  readonly limits: SnapshotLimits;
  /** The path of the home folder; null if only the workspace is copied. */
  readonly home: string | null;
  /** The workspace is a clone, so what `origin` has is left out. */
  readonly hasRemote: boolean;
}

/** The state of the repository that is not in files. */
export interface RepositoryState {
  /** The branch that `HEAD` names, or null if it names a commit. */
  readonly branch: string | null;
  /** The commit of `HEAD`; null before the first one. */
  readonly commit: string | null;
  readonly references: readonly (readonly [name: string, commit: string])[];
  /** Commits of the remote that the pack builds on. */
  readonly needs: readonly string[];
  /** Tracked files that are missing in the workspace, in the encoding of `byteText`. */
  readonly deleted: readonly string[];
}

/** For the program that restores the snapshot. */
export interface Manifest {
  /** Null if the workspace has no repository that can be described: then `files` has all its files. */
  readonly repository: RepositoryState | null;
}

/** For the service. */
export interface Summary {
  readonly hasRepository: boolean;
  readonly bytes: number;
  readonly files: number;
  /** What was left out: some files, for people, the largest first, and how many there are. */
  readonly leftOut: { readonly files: readonly LeftOutFile[]; readonly count: number };
}

export interface LeftOutFile {
  readonly name: string;
  /** 0 if it is not known. */
  readonly bytes: number;
  readonly reason: LeftOutReason;
}

export const leftOutReasons = ['too_large', 'no_room', 'too_many', 'unreadable', 'too_deep'] as const;

/**
 * `too_large`: larger than one file may be. `no_room`: all files together are too large. `too_many`: there are too many
 * files. `too_deep`: the folder is in too many others.
 */
export type LeftOutReason = (typeof leftOutReasons)[number];

export type TakeRefusal =
  /** What cannot be left out is too large: the commits and the index. */
  | 'too_large'
  /** The index was changed while it was copied, so it may name objects that the pack lacks. */
  | 'changed';

/** Names of files are bytes; this encoding maps each byte to a character. */
export const byteText = 'latin1';

/** The first frame for the program that restores snapshots. */
export interface RestoreRequest {
  readonly home: string;
  /** Whether missing commits can be fetched from `origin`. */
  readonly hasRemote: boolean;
}

export type RestoreRefusal =
  /** The remote no longer has a commit that the snapshot builds on. */
  | 'no_commit'
  /** The disk is full. */
  | 'full'
  /** Git or tar failed. */
  | 'failed';

/** Written to standard output as JSON. */
export type RestoreReply = { readonly restored: true } | { readonly refused: RestoreRefusal };
