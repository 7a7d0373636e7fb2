// The packets that carry frames over a stream that may break and be replaced by another one. A stream may begin or end in
// the middle of a packet, and what a broken one still delivers may be mixed with its successor, so each packet begins
// with a mark that nothing else contains, and has a checksum.
import { crc32 } from 'node:zlib';
import { frameBytesMax, ProtocolError } from './frames.ts';

/** Their position is their number on the wire. */
const kinds = ['hello', 'welcome', 'frame', 'ack', 'again', 'ping'] as const;
/**
 * `hello` is the first packet of the worker in each stream, and `welcome` the answer to it. `ack` says how many frames have
 * arrived, and `again` asks for those after that. `ping` says how many were sent; it is answered with one of the two.
 */
export type PacketKind = (typeof kinds)[number];

export interface Packet {
  readonly kind: PacketKind;
  /** Each stream has a higher one than the stream before. */
  readonly epoch: number;
  /** Of a frame: its own. Of the others: the number of frames that were received or, of a ping, sent. */
  readonly number: number;
  /** The worker holds the lease of the conversation. */
  readonly isHeartbeat?: boolean;
  readonly payload: Buffer;
}

export const markBytes = 16;
const heartbeatBit = 0x80;
const numberBytes = 6;
const kindAt = markBytes;
const epochAt = kindAt + 1;
const numberAt = epochAt + 4;
const sizeAt = numberAt + numberBytes;
const checksumAt = sizeAt + 4;
export const packetHeaderBytes = checksumAt + 4;
const messageBytesMax = 4_096;

/** The sizes that a payload may have, by kind. */
const sizesMax: Readonly<Record<PacketKind, number>> = {
  hello: messageBytesMax,
  welcome: messageBytesMax,
  frame: frameBytesMax,
  ack: 0,
  again: 0,
  ping: 0,
};

const empty: Buffer = Buffer.alloc(0);

function checksumOf(header: Buffer, payload: Buffer): number {
  return crc32(payload, crc32(header.subarray(kindAt, checksumAt)));
}

export function encodePacket(mark: Buffer, sent: Packet): Buffer {
  const { kind, epoch, number, isHeartbeat = false, payload } = sent;
  const packet = Buffer.allocUnsafe(packetHeaderBytes + payload.length);
  mark.copy(packet);
  packet.writeUInt8(kinds.indexOf(kind) | (isHeartbeat ? heartbeatBit : 0), kindAt);
  packet.writeUInt32BE(epoch, epochAt);
  packet.writeUIntBE(number, numberAt, numberBytes);
  packet.writeUInt32BE(payload.length, sizeAt);
  packet.writeUInt32BE(checksumOf(packet, payload), checksumAt);
  payload.copy(packet, packetHeaderBytes);
  return packet;
}

interface Header {
  readonly kind: PacketKind;
  readonly end: number;
}

/** Undefined if the packet is damaged. */
function readHeader(bytes: Buffer): Header | undefined {
  const kind = kinds[bytes.readUInt8(kindAt) & ~heartbeatBit];
  const size = bytes.readUInt32BE(sizeAt);
  if (kind === undefined || size > sizesMax[kind]) return undefined;
  return { kind, end: packetHeaderBytes + size };
}

function readPacket(bytes: Buffer, { kind, end }: Header): Packet | undefined {
  const payload = bytes.subarray(packetHeaderBytes, end);
  if (checksumOf(bytes, payload) !== bytes.readUInt32BE(checksumAt)) return undefined;
  const epoch = bytes.readUInt32BE(epochAt);
  const isHeartbeat = (bytes.readUInt8(kindAt) & heartbeatBit) !== 0;
  return { kind, epoch, number: bytes.readUIntBE(numberAt, numberBytes), isHeartbeat, payload };
}

interface PacketReaderOptions {
  /** Asked whenever the next packet is looked for, because a packet may change it. */
  readonly mark: () => Buffer;
  /** Anything but whole packets is an error of the other end. Otherwise it is skipped. */
  readonly isStrict: boolean;
  readonly onPacket: (packet: Packet) => void;
}

/** Returns a function that takes bytes as they come. It throws ProtocolError if it is strict, and whatever `onPacket` throws. */
export function createPacketReader({ mark, isStrict, onPacket }: PacketReaderOptions) {
  let unread: Buffer = empty;

  /** Skips to the next mark, or to what may be the beginning of one. */
  function skipTo(from: number): void {
    const at = unread.indexOf(mark(), from);
    const next = at >= 0 ? at : Math.max(from, unread.length - markBytes + 1);
    if (isStrict && next > 0 && unread.length >= markBytes)
      throw new ProtocolError('something is not a packet');
    unread = unread.subarray(Math.min(next, unread.length));
  }

  /** Reads the packet at the beginning, if it is there as a whole. */
  function readNext(): boolean {
    skipTo(0);
    if (unread.length < packetHeaderBytes) return false;
    const header = readHeader(unread);
    const isWhole = header !== undefined && unread.length >= header.end;
    // A packet that ends early is followed by the next mark, which its payload cannot have.
    if (header !== undefined && !isWhole && (isStrict || unread.indexOf(mark(), markBytes) < 0)) return false;
    const packet = isWhole ? readPacket(unread, header) : undefined;
    if (packet === undefined && isStrict) throw new ProtocolError('a packet is damaged');
    if (packet === undefined || header === undefined) skipTo(markBytes);
    else {
      unread = unread.subarray(header.end);
      onPacket(packet);
    }
    return true;
  }

  return (bytes: Buffer): void => {
    unread = unread.length === 0 ? bytes : Buffer.concat([unread, bytes]);
    while (readNext());
  };
}
