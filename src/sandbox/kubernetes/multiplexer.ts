// Carries many streams over one connection, for the worker and for the supervisor in the pod. Each direction of a
// channel has a window: what the reader has not consumed is never more than that, so that a slow reader of one channel
// neither fills the memory nor stops the others.
import { Duplex } from 'node:stream';
import {
  creditFrame,
  emptyFrame,
  encodeFrame,
  type Frame,
  ProtocolError,
  payloadBytesMax,
  readCredit,
} from './frames.ts';

const kib = 1_024;

/** How many bytes may be sent on a channel before its reader consumes them. */
export const windowBytes = 256 * kib;
/** A reader that has less than this waiting is ready for more. */
const readyBytes = windowBytes / 2;
/** Open channels in total. */
export const channelsMax = 512;
const idMax = 2 ** 32 - 1;

interface MultiplexerOptions {
  /** The worker and the supervisor use different ids for what they open. */
  readonly side: 'worker' | 'supervisor';
  readonly send: (frame: Buffer) => void;
  /** Whether data may be sent. If not, `proceed` is called when it may. */
  readonly hasRoom: () => boolean;
  /** The other end has opened a channel. It may throw ProtocolError. */
  readonly onOpen: (channel: Duplex, id: number, about: unknown) => void;
  /** It may throw ProtocolError. */
  readonly onControl: (message: unknown) => void;
}

export interface Multiplexer {
  /** Throws if too many channels are open. */
  open(about: object): { readonly id: number; readonly channel: Duplex };
  control(message: object): void;
  /** Throws ProtocolError. */
  receive(frame: Frame): void;
  /** There is room for data again. */
  proceed(): void;
  /** Ends all channels with an error. */
  close(why: Error): void;
}

interface ChannelOptions {
  readonly id: number;
  readonly send: (frame: Frame) => void;
  readonly hasRoom: () => boolean;
  /** The channel has data to send, and waits for room. */
  readonly onWait: () => void;
  readonly onGone: () => void;
}

/** One channel. Reading grants credit, and writing waits for it. */
class Channel extends Duplex {
  readonly #options: ChannelOptions;
  #credit = windowBytes;
  /** What the other end may still send. */
  #window = windowBytes;
  /** Bytes that have arrived and for which no new credit was sent. */
  #consumable = 0;
  #hasRemoteEnded = false;
  #hasEnded = false;
  #isReset = false;
  #waiting: { readonly bytes: Buffer; readonly done: (error?: Error | null) => void } | undefined;

  constructor(options: ChannelOptions) {
    super({ allowHalfOpen: true, readableHighWaterMark: readyBytes });
    this.#options = options;
  }

  override _read(): void {
    if (this.#consumable === 0 || this.#hasRemoteEnded) return;
    this.#window += this.#consumable;
    this.#send(creditFrame(this.#options.id, this.#consumable));
    this.#consumable = 0;
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#waiting = { bytes, done };
    this.proceed();
  }

  /** Sends up to so many frames of what waits, as far as there are credit and room. */
  proceed(framesMax = Number.POSITIVE_INFINITY): void {
    if (this.#waiting === undefined) return;
    const { bytes, done } = this.#waiting;
    let at = 0;
    for (let frames = 0; at < bytes.length && this.#credit > 0; frames++) {
      this.#waiting = { bytes: bytes.subarray(at), done };
      if (frames === framesMax || !this.#options.hasRoom()) {
        this.#options.onWait();
        return;
      }
      const end = Math.min(bytes.length, at + this.#credit, at + payloadBytesMax);
      this.#credit -= end - at;
      this.#send({ kind: 'data', channel: this.#options.id, payload: bytes.subarray(at, end) });
      at = end;
    }
    this.#waiting = at < bytes.length ? { bytes: bytes.subarray(at), done } : undefined;
    if (at === bytes.length) done();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#hasEnded = true;
    this.#send(emptyFrame('end', this.#options.id));
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#isReset && !(this.#hasEnded && this.#hasRemoteEnded))
      this.#send(emptyFrame('reset', this.#options.id));
    this.#options.onGone();
    this.#waiting?.done(error);
    this.#waiting = undefined;
    done(error);
  }

  #send(frame: Frame): void {
    this.#options.send(frame);
  }

  receive(frame: Frame): void {
    if (frame.kind === 'data') this.#receiveData(frame.payload);
    else if (frame.kind === 'credit') this.#receiveCredit(readCredit(frame));
    else if (frame.kind === 'reset') this.abort(new Error('the other end has closed the channel'));
    else this.#receiveEnd();
  }

  #receiveEnd(): void {
    if (this.#hasRemoteEnded) throw new ProtocolError('a channel has ended twice');
    this.#hasRemoteEnded = true;
    this.push(null);
  }

  #receiveData(payload: Buffer): void {
    if (this.#hasRemoteEnded) throw new ProtocolError('a channel has data after its end');
    if (payload.length > this.#window) throw new ProtocolError('a channel has exceeded its window');
    this.#window -= payload.length;
    this.#consumable += payload.length;
    this.push(payload);
  }

  #receiveCredit(bytes: number): void {
    this.#credit += bytes;
    if (bytes === 0 || this.#credit > windowBytes)
      throw new ProtocolError('a channel was given too much credit');
    this.proceed();
  }

  /** Ends it without telling the other end. */
  abort(why: Error): void {
    this.#isReset = true;
    this.destroy(why);
  }
}

function parse(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString());
  } catch {
    throw new ProtocolError('a message is not JSON');
  }
}

export function createMultiplexer(options: MultiplexerOptions): Multiplexer {
  const { side } = options;
  const channels = new Map<number, Channel>();
  /** Those that wait for room. Each takes its turn. */
  const waiting = new Set<Channel>();
  let nextId = side === 'worker' ? 1 : 2;
  let lastRemoteId = side === 'worker' ? 0 : -1;
  let isClosed = false;
  const send = (frame: Frame) => {
    if (!isClosed) options.send(encodeFrame(frame));
  };

  function add(id: number): Channel {
    if (isClosed) throw new Error('the connection is closed');
    if (channels.size >= channelsMax || id > idMax) throw new ProtocolError('too many channels are open');
    const channel: Channel = new Channel({
      id,
      send,
      hasRoom: options.hasRoom,
      onWait: () => waiting.add(channel),
      onGone: () => {
        channels.delete(id);
        waiting.delete(channel);
      },
    });
    // The user of a channel may not listen for errors, and an unhandled one would end the process.
    channel.on('error', () => {});
    channels.set(id, channel);
    return channel;
  }

  function accept({ channel: id, payload }: Frame): void {
    // Ids are never used again, so that late frames of a closed channel cannot be mistaken.
    if (id % 2 !== Math.abs(lastRemoteId) % 2 || id <= lastRemoteId)
      throw new ProtocolError('a channel has a wrong id');
    lastRemoteId = id;
    options.onOpen(add(id), id, parse(payload));
  }

  /** Frames of a channel that was closed here may still be on their way. */
  function wasOpen(id: number): boolean {
    return id % 2 === nextId % 2 ? id < nextId : id <= lastRemoteId;
  }

  return {
    open: (about) => {
      const id = nextId;
      const channel = add(id);
      nextId += 2;
      send({ kind: 'open', channel: id, payload: Buffer.from(JSON.stringify(about)) });
      return { id, channel };
    },
    control: (message) =>
      send({ kind: 'control', channel: 0, payload: Buffer.from(JSON.stringify(message)) }),
    receive: (frame) => {
      if (isClosed) return;
      if (frame.kind === 'control') return options.onControl(parse(frame.payload));
      if (frame.kind === 'open') return accept(frame);
      const channel = channels.get(frame.channel);
      if (channel !== undefined) channel.receive(frame);
      else if (!wasOpen(frame.channel)) throw new ProtocolError('a frame has a channel that is not open');
    },
    proceed: () => {
      // Those that wait again are visited again.
      for (const channel of waiting) {
        if (!options.hasRoom()) return;
        waiting.delete(channel);
        channel.proceed(1);
      }
    },
    close: (why) => {
      isClosed = true;
      for (const channel of [...channels.values()]) channel.abort(why);
    },
  };
}
