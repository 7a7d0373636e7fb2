// Looks at the lines of a stream as they pass: how long the last one has become, and whether anything is in them.

const lineEnd = 0x0a;
/** Of a line with data; comments and empty lines only keep a connection alive. */
const dataBegin = 'd'.charCodeAt(0);

export interface LineWatch {
  /** Whether a piece has data in it. */
  see(piece: Buffer): boolean;
  /** So far, of the line that has not ended. */
  bytes(): number;
}

export function createLineWatch(): LineWatch {
  let bytes = 0;
  let isData = false;
  return {
    see: (piece) => {
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
