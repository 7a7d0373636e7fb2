// Text that comes in pieces, however small, and is looked at later: adding a piece costs what the piece is long.

const firstBytes = 4_096;
const headBytes = 16;

export interface HeldText {
  /** How it begins. */
  readonly head: string;
  /** All of it, or its end where it is longer than the bound. */
  readonly text: string;
  /** Of all of it. */
  readonly bytes: number;
}

export interface HeldBytes {
  add(piece: Buffer): void;
  /** What was added since the last time. */
  take(): HeldText;
}

/** Of what is longer than the bound, so much of its end is held. */
export function createHeldBytes(bytesMax: number): HeldBytes {
  let room: Buffer = Buffer.alloc(0);
  let length = 0;
  let bytes = 0;
  let head: string | undefined;

  /** So much again fits before the next time, so that each byte is moved once. */
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
