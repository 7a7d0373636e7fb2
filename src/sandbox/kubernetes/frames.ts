// The frames of the connection to a pod. Many channels share one connection. The other end is never trusted: a
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
const headerBytes = 5;
export const frameBytesMax = headerBytes + payloadBytesMax;
const creditBytes = 4;
const openBytesMax = kib;

/** Says which rule the other end has broken. */
export class ProtocolError extends Error {}

const empty: Buffer = Buffer.alloc(0);

/** The result is a copy, so that the payload may change afterwards. */
export function encodeFrame({ kind, channel, payload }: Frame): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + payload.length);
  frame.writeUInt8(kinds.indexOf(kind), 0);
  frame.writeUInt32BE(channel, 1);
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

/** Throws ProtocolError. */
export function decodeFrame(bytes: Buffer): Frame {
  if (bytes.length < headerBytes) throw new ProtocolError('a frame is cut off');
  const kind = kinds[bytes.readUInt8(0)];
  const channel = bytes.readUInt32BE(1);
  const payload = bytes.subarray(headerBytes);
  if (kind === undefined) throw new ProtocolError('a frame has an unknown kind');
  const [min, max] = sizes[kind];
  if (payload.length < min || payload.length > max)
    throw new ProtocolError(`a frame of the kind ${kind} has a wrong size`);
  if ((kind === 'control') !== (channel === 0)) throw new ProtocolError('a frame has a wrong channel');
  return { kind, channel, payload };
}
