// One end of a connection that outlives its streams. Frames are numbered, and kept until the other end has confirmed them.
// When a stream breaks and another takes its place, both ends say how many frames have arrived, and send the rest again, so
// that each frame arrives once and in order.
import { ProtocolError } from './frames.ts';
import type { Packet } from './packets.ts';

const mib = 1_024 * 1_024;

/** Channels wait while so much is not confirmed. The other end confirms what has arrived, whether or not it was consumed. */
export const roomBytes = 4 * mib;
/** Messages about channels are sent even then. An end that lets more than this pile up is given up. */
export const keptBytesMax = 4 * roomBytes;
/** What a frame costs beside its bytes. */
const frameCostBytes = 256;

export type LinkPacket = Pick<Packet, 'kind' | 'number' | 'payload'>;

interface LinkOptions {
  /** Sends a packet in the current stream. Called only between `resume` and `pause`. */
  readonly transmit: (packet: LinkPacket) => void;
  /** Takes the next frame. It may throw ProtocolError. */
  readonly onFrame: (bytes: Buffer) => void;
  /** There is room again. */
  readonly onRoom: () => void;
  /** The other end confirms nothing. Called once. */
  readonly onOverflow: () => void;
  /** Frames of a stream cannot get lost while it lasts. Otherwise a ping finds out which are missing. */
  readonly isReliable: boolean;
}

export interface Link {
  /** Sends a frame now, or as soon as there is a stream. */
  send(frame: Buffer): void;
  /** Whether there is room for data of channels. */
  hasRoom(): boolean;
  /** How many frames have arrived. */
  received(): number;
  /** Takes a packet of the current stream. Throws ProtocolError. */
  receive(packet: Packet): void;
  /** A new stream is there. `received` is how many frames the other end has. Throws ProtocolError if that cannot be. */
  resume(received: number): void;
  /** The stream is gone. */
  pause(): void;
  /** Asks whether everything has arrived. */
  ping(): void;
}

const empty: Buffer = Buffer.alloc(0);

export function createLink(options: LinkOptions): Link {
  const { transmit, isReliable } = options;
  /** The frames after the first `confirmed` ones. */
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let confirmed = 0;
  let received = 0;
  let isOpen = false;
  let isAckDue = false;
  let hasOverflowed = false;
  /** Each ping allows for one repetition, so that the other end cannot cause more of them. */
  let mayRepeat = false;

  const sent = () => confirmed + kept.length;
  const tell = (kind: 'ack' | 'again' | 'ping', number: number) => transmit({ kind, number, payload: empty });

  function repeat(): void {
    for (const [index, payload] of kept.entries())
      transmit({ kind: 'frame', number: confirmed + index + 1, payload });
  }

  function confirm(number: number): void {
    if (number > sent()) throw new ProtocolError('a frame was confirmed that was not sent');
    if (number <= confirmed) return;
    const hadRoom = keptBytes < roomBytes;
    for (const { length } of kept.splice(0, number - confirmed)) keptBytes -= length + frameCostBytes;
    confirmed = number;
    if (!hadRoom && keptBytes < roomBytes) options.onRoom();
  }

  /** All frames that arrive at once are confirmed together. */
  function acknowledgeSoon(): void {
    if (isAckDue) return;
    isAckDue = true;
    setImmediate(() => {
      isAckDue = false;
      if (isOpen) tell('ack', received);
    });
  }

  function receiveFrame({ number, payload }: Packet): void {
    if (number > received + 1 && isReliable) throw new ProtocolError('a frame is missing');
    if (number !== received + 1) return;
    received = number;
    acknowledgeSoon();
    options.onFrame(payload);
  }

  return {
    send: (frame) => {
      if (hasOverflowed) return;
      kept.push(frame);
      keptBytes += frame.length + frameCostBytes;
      if (keptBytes > keptBytesMax) {
        hasOverflowed = true;
        kept = [];
        options.onOverflow();
      } else if (isOpen) transmit({ kind: 'frame', number: sent(), payload: frame });
    },
    hasRoom: () => keptBytes < roomBytes,
    received: () => received,
    receive: (packet) => {
      const { kind, number } = packet;
      if (kind === 'frame') receiveFrame(packet);
      else if (kind === 'ping') tell(number > received ? 'again' : 'ack', received);
      else if (kind === 'ack' || kind === 'again') confirm(number);
      else throw new ProtocolError(`a packet of the kind ${kind} came at a wrong time`);
      if (kind !== 'again' || !mayRepeat) return;
      mayRepeat = false;
      repeat();
    },
    resume: (number) => {
      if (number < confirmed) throw new ProtocolError('a confirmed frame is missing');
      // Whoever waits for room sends more, which has to come after the rest.
      isOpen = false;
      confirm(number);
      isOpen = true;
      repeat();
    },
    pause: () => {
      isOpen = false;
    },
    ping: () => {
      mayRepeat = true;
      tell('ping', sent());
    },
  };
}
