// Tracks the lines of a stream as they pass: the length of the current line, and whether a piece contains data.

const lineEnd = 0x0a;
/** The first byte of a data line. Comments and empty lines only keep a connection alive. */
const dataBegin = 'd'.charCodeAt(0);

export interface LineTracker {
  /** Returns whether the piece contains data. */
  push(piece: Buffer): boolean;
  /** The length of the current line so far. */
  bytes(): number;
}

export function createLineTracker(): LineTracker {
  let bytes = 0;
  let isData = false;
  return {
    push: (piece) => {
      let hasData = isData;
      let from = 0;
      for (let end = piece.indexOf(lineEnd); end !== -1 && !hasData; end = piece.indexOf(lineEnd, from)) {
        hasData = (bytes === 0 || from > 0) && piece[from] === dataBegin;
        from = end + 1;
      }
      const last = piece.lastIndexOf(lineEnd) + 1;
      if (last > 0 || bytes === 0) isData = piece[last] === dataBegin;
      bytes = (last > 0 ? 0 : bytes) + piece.length - last;
      return hasData || isData;
    },
    bytes: () => bytes,
  };
}
