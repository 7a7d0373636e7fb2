// Counts what a snapshot may hold, and remembers what did not fit.
import { byteText, type SnapshotLimits, type Summary } from './sections.ts';

/** Names that are shown to the user. */
const namesMax = 20;

export class TooLarge extends Error {}

export interface Budget {
  /** Whether there is room for a file of this size. If not, its name is kept. */
  admit(shownName: string, bytes: number): boolean;
  /** Counts bytes that cannot be left out. Throws TooLarge. */
  need(bytes: number): void;
  /** Something that cannot be read, or of which nobody knows how much it is. */
  leaveOut(shownName: string): void;
  readonly isFull: () => boolean;
  report(): Omit<Summary, 'hasRepository'>;
}

export function createBudget({ bytesMax, filesMax, fileBytesMax }: SnapshotLimits): Budget {
  let bytes = 0;
  let files = 0;
  let count = 0;
  const names: string[] = [];

  function leaveOut(shownName: string): void {
    count += 1;
    if (names.length < namesMax) names.push(Buffer.from(shownName, byteText).toString());
  }

  return {
    leaveOut,
    isFull: () => files >= filesMax,
    admit: (shownName, size) => {
      const fits = size <= fileBytesMax && bytes + size <= bytesMax && files < filesMax;
      if (fits) {
        bytes += size;
        files += 1;
      } else leaveOut(shownName);
      return fits;
    },
    need: (size) => {
      bytes += size;
      if (bytes > bytesMax) throw new TooLarge();
    },
    report: () => ({ bytes, files, leftOut: { names, count } }),
  };
}
