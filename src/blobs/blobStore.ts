// A store for immutable blobs that several machines share. Higher rooms decide what is in them; nothing here can read it.

/** The store cannot be used now: it is unreachable, full, or refuses this process. The message is a clause. */
export class BlobStoreError extends Error {
  /** What an operator can do, as sentences, if that is known. */
  readonly remedy: string | undefined;

  constructor(clause: string, options: { readonly cause?: unknown; readonly remedy?: string } = {}) {
    super(clause, 'cause' in options ? { cause: options.cause } : {});
    this.remedy = options.remedy;
  }
}

export interface BlobStore {
  /** What an operator calls it, without credentials. */
  readonly name: string;
  /** Stores a blob. It is there as a whole once this settles, or not at all. A name is used only once. */
  put(folder: string, file: string, bytes: Buffer, signal: AbortSignal): Promise<void>;
  /** Undefined if there is no such blob, or if it is larger than `bytesMax`. */
  get(folder: string, file: string, bytesMax: number, signal: AbortSignal): Promise<Buffer | undefined>;
  /** The files of a folder, at most `max`. */
  list(folder: string, max: number, signal: AbortSignal): Promise<string[]>;
  /** Removes files; those that do not exist count as removed. */
  remove(folder: string, files: readonly string[], signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Folders and files are named by the service alone. */
export function checkBlobName(name: string): string {
  if (!/^[0-9a-z]{1,64}$/.test(name)) throw new Error('not the name of a blob');
  return name;
}
