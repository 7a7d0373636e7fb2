// The frames of the connection to a pod. Many channels share one stream of bytes. The other end is never trusted: a
// frame that breaks a rule ends the connection.

const kib = 1_024;

/** Their position is their number on the wire. */
const kinds = ['control', 'open', 'data', 'credit', 'end', 'reset'] as const;
/**
 * `control` is a message about the connection; the others are about a channel. `credit` allows the receiver to send so
 * many more bytes, `end` is the last frame in its direction, and `reset` ends both directions at once.
 */
export type FrameKind = (typeof kinds)[number];

export interface Frame {
  readonly kind: FrameKind;
  /** 0 for `control`. */
  readonly channel: number;
  readonly payload: Buffer;
}

export const payloadBytesMax = 64 * kib;
const headerBytes = 9;
const creditBytes = 4;
const openBytesMax = kib;

/** Says which rule the other end has broken. */
export class ProtocolError extends Error {}

const empty: Buffer = Buffer.alloc(0);

export function encodeFrame({ kind, channel, payload }: Frame): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + payload.length);
  frame.writeUInt8(kinds.indexOf(kind), 0);
  frame.writeUInt32BE(channel, 1);
  frame.writeUInt32BE(payload.length, 5);
  payload.copy(frame, headerBytes);
  return frame;
}

export function creditFrame(channel: number, bytes: number): Frame {
  const payload = Buffer.allocUnsafe(creditBytes);
  payload.writeUInt32BE(bytes, 0);
  return { kind: 'credit', channel, payload };
}

export function readCredit({ payload }: Frame): number {
  return payload.readUInt32BE(0);
}

export function emptyFrame(kind: 'end' | 'reset', channel: number): Frame {
  return { kind, channel, payload: empty };
}

/** The sizes that a payload may have, by kind. */
const sizes: Readonly<Record<FrameKind, readonly [min: number, max: number]>> = {
  control: [1, payloadBytesMax],
  open: [1, openBytesMax],
  data: [1, payloadBytesMax],
  credit: [creditBytes, creditBytes],
  end: [0, 0],
  reset: [0, 0],
};

interface Header {
  readonly kind: FrameKind;
  readonly channel: number;
  readonly size: number;
}

function readHeader(bytes: Buffer): Header {
  const kind = kinds[bytes.readUInt8(0)];
  const channel = bytes.readUInt32BE(1);
  const size = bytes.readUInt32BE(5);
  if (kind === undefined) throw new ProtocolError('a frame has an unknown kind');
  const [min, max] = sizes[kind];
  if (size < min || size > max) throw new ProtocolError(`a frame of the kind ${kind} has a wrong size`);
  if ((kind === 'control') !== (channel === 0)) throw new ProtocolError('a frame has a wrong channel');
  return { kind, channel, size };
}

/** Returns a function that takes bytes as they come. It throws ProtocolError, and whatever `onFrame` throws. */
export function createFrameReader(onFrame: (frame: Frame) => void): (bytes: Buffer) => void {
  let rest: Buffer = empty;
  return (bytes) => {
    let unread = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    while (unread.length >= headerBytes) {
      // A header is checked before its payload is waited for.
      const { kind, channel, size } = readHeader(unread);
      const end = headerBytes + size;
      if (unread.length < end) break;
      const payload = unread.subarray(headerBytes, end);
      unread = unread.subarray(end);
      onFrame({ kind, channel, payload });
    }
    rest = unread;
  };
}
