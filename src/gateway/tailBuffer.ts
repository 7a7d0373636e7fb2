// Collects text that arrives in pieces and is read later. Adding a piece costs time in proportion to its length only.

const firstBytes = 4_096;
const headBytes = 16;

export interface BufferedText {
  /** The first bytes. */
  readonly head: string;
  /** The whole text, or its end if it is longer than the limit. */
  readonly text: string;
  /** The length of the whole text. */
  readonly bytes: number;
}

export interface TailBuffer {
  add(piece: Buffer): void;
  /** Returns what was added since the last call. */
  take(): BufferedText;
}

/** Keeps the last `bytesMax` bytes. */
export function createTailBuffer(bytesMax: number): TailBuffer {
  let room: Buffer = Buffer.alloc(0);
  let length = 0;
  let bytes = 0;
  let head: string | undefined;

  /** The buffer holds twice the limit, so that each byte is moved at most once. */
  function keepEnd(): void {
    head ??= room.toString('latin1', 0, headBytes);
    room.copyWithin(0, length - bytesMax, length);
    length = bytesMax;
  }

  function makeRoom(needed: number): void {
    if (needed <= room.length) return;
    const larger = Buffer.allocUnsafe(Math.min(2 * bytesMax, Math.max(needed, firstBytes, 2 * room.length)));
    room.copy(larger, 0, 0, length);
    room = larger;
  }

  function addPart(part: Buffer): void {
    if (length + part.length > 2 * bytesMax) keepEnd();
    makeRoom(length + part.length);
    part.copy(room, length);
    length += part.length;
  }

  return {
    add: (piece) => {
      bytes += piece.length;
      for (let at = 0; at < piece.length; at += bytesMax) addPart(piece.subarray(at, at + bytesMax));
    },
    take: () => {
      const held = {
        head: head ?? room.toString('latin1', 0, Math.min(headBytes, length)),
        text: room.toString('utf8', Math.max(0, length - bytesMax), length),
        bytes,
      };
      length = 0;
      bytes = 0;
      head = undefined;
      return held;
    },
  };
}
