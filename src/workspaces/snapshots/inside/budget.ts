// Counts what a snapshot may hold, and remembers what did not fit.
import {
  byteText,
  type LeftOutFile,
  type LeftOutReason,
  type SnapshotLimits,
  type Summary,
} from './sections.ts';

/** Files that are named to the user: the largest ones. */
const namedMax = 20;

export class TooLarge extends Error {}

/** A file, folder or link for an archive. */
export interface Entry {
  /** In the encoding of `byteText`. */
  readonly name: string;
  readonly bytes: number;
}

export interface Budget {
  /** Whether there is room for one more entry of this size, as far as only this one matters. */
  admit(shownName: string, bytes: number): boolean;
  /** Counts the bytes of entries that were admitted. If they do not fit, the largest are left out. */
  fit(label: string, entries: readonly Entry[]): readonly Entry[];
  /** Counts bytes that cannot be left out. Throws TooLarge. */
  need(bytes: number): void;
  leaveOut(shownName: string, reason: LeftOutReason, bytes?: number): void;
  readonly isFull: () => boolean;
  report(): Omit<Summary, 'hasRepository'>;
}

export function createBudget({ bytesMax, filesMax, fileBytesMax }: SnapshotLimits): Budget {
  let bytes = 0;
  let files = 0;
  let count = 0;
  const largest: LeftOutFile[] = [];

  function leaveOut(shownName: string, reason: LeftOutReason, size = 0): void {
    count += 1;
    const at = largest.findIndex((file) => file.bytes < size);
    if (at < 0 && largest.length >= namedMax) return;
    const file = { name: Buffer.from(shownName, byteText).toString(), bytes: size, reason };
    largest.splice(at < 0 ? largest.length : at, 0, file);
    largest.splice(namedMax);
  }

  return {
    leaveOut,
    isFull: () => files >= filesMax,
    admit: (shownName, size) => {
      const reason = size > fileBytesMax ? 'too_large' : files >= filesMax ? 'too_many' : undefined;
      if (reason === undefined) files += 1;
      else leaveOut(shownName, reason, size);
      return reason === undefined;
    },
    fit: (label, entries) => {
      let total = entries.reduce((sum, entry) => sum + entry.bytes, 0);
      const out = new Set<Entry>();
      for (const entry of entries.toSorted((a, b) => b.bytes - a.bytes)) {
        if (bytes + total <= bytesMax || entry.bytes === 0) break;
        out.add(entry);
        total -= entry.bytes;
        files -= 1;
        leaveOut(label + entry.name, 'no_room', entry.bytes);
      }
      bytes += total;
      return out.size === 0 ? entries : entries.filter((entry) => !out.has(entry));
    },
    need: (size) => {
      bytes += size;
      if (bytes > bytesMax) throw new TooLarge();
    },
    report: () => ({ bytes, files, leftOut: { files: largest, count } }),
  };
}
