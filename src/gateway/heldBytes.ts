// Text that comes in pieces, however small, and is looked at later: adding a piece costs what the piece is long.

const firstBytes = 4_096;

export interface HeldBytes {
  add(piece: Buffer): void;
  /** The text that was added since the last time; empty where it was too long. */
  take(): string;
}

/** What is longer than the bound is forgotten, to where it is taken. */
export function createHeldBytes(bytesMax: number): HeldBytes {
  let room: Buffer = Buffer.alloc(0);
  let length = 0;

  function makeRoom(bytes: number): void {
    if (bytes <= room.length) return;
    const larger = Buffer.allocUnsafe(Math.min(bytesMax, Math.max(bytes, firstBytes, 2 * room.length)));
    room.copy(larger, 0, 0, length);
    room = larger;
  }

  return {
    add: (piece) => {
      const bytes = length + piece.length;
      if (bytes <= bytesMax) {
        makeRoom(bytes);
        piece.copy(room, length);
      } else room = Buffer.alloc(0);
      length = bytes;
    },
    take: () => {
      const text = length <= bytesMax ? room.toString('utf8', 0, length) : '';
      length = 0;
      return text;
    },
  };
}
