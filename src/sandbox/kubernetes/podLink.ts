// The worker's end of the link to a pod: attaches to the pod, and attaches again when the stream breaks. As long as its
// supervisor lives, nothing is lost by that.
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { createDecryption, newKey } from './cipher.ts';
import { decodeFrame, type Frame, ProtocolError } from './frames.ts';
import { createLink, type LinkPacket } from './link.ts';
import { createPacketReader, encodePacket, markBytes, type Packet } from './packets.ts';
import {
  firstMark,
  type Hello,
  heartbeatMs,
  protocolVersion,
  silenceMsMax,
  type Welcome,
} from './protocol.ts';

interface LinkTimes {
  readonly heartbeatMs: number;
  /** If nothing arrives for so long, the stream is taken for broken. */
  readonly quietMs: number;
  /** The pause between attempts to attach. */
  readonly againMs: number;
  /** A pod that cannot be attached to for so long has ended itself. */
  readonly silenceMs: number;
}

const timesDefault: LinkTimes = { heartbeatMs, quietMs: 5_000, againMs: 200, silenceMs: silenceMsMax };
/** What is sent last has so long to leave. */
const leaveMs = 100;

/** A stream of bytes to and from the supervisor. */
export interface PodStream {
  send(bytes: Buffer): void;
  close(): void;
}

/** Opens a stream. `onClose` is called at most once. */
export type OpenPodStream = (events: {
  readonly onOutput: (bytes: Buffer) => void;
  readonly onClose: (why: string) => void;
}) => Promise<PodStream>;

interface PodLinkOptions {
  readonly open: OpenPodStream;
  /** Heartbeats are sent as long as this returns true. */
  readonly isHeld: () => boolean;
  /** Whether the pod is known to have ended, so that it is of no use to attach to it again. Never rejects. */
  readonly hasEnded: () => Promise<boolean>;
  /** The supervisor has answered for the first time. */
  readonly onWelcome: (welcome: Welcome) => void;
  /** It may throw ProtocolError. */
  readonly onFrame: (frame: Frame) => void;
  readonly onRoom: () => void;
  /** Called at most once; never after `close`. */
  readonly onLost: (why: string, hasBrokenProtocol: boolean) => void;
  readonly times?: Partial<LinkTimes> | undefined;
}

export interface PodLink {
  /** Rejects if the first stream cannot be opened. */
  connect(): Promise<void>;
  send(frame: Buffer): void;
  hasRoom(): boolean;
  close(): void;
}

/** One stream, from the attempt to open it. */
interface Attempt {
  readonly epoch: number;
  stream: PodStream | undefined;
  /** Since when answers are expected. */
  since: number;
  isWelcome: boolean;
}

function readWelcome(payload: Buffer): Welcome {
  try {
    const { protocol, node } = JSON.parse(payload.toString()) as Partial<Welcome>;
    return { protocol: Number(protocol), node: String(node) };
  } catch {
    throw new ProtocolError('a message is not JSON');
  }
}

export function createPodLink(options: PodLinkOptions): PodLink {
  const { isHeld, hasEnded } = options;
  const times: LinkTimes = { ...timesDefault, ...options.times };
  const session = randomBytes(markBytes).toString('base64');
  const mark = randomBytes(markBytes);
  let current: Attempt | undefined;
  let epoch = 0;
  let isNew = true;
  let brokenAt: number | undefined;
  let failures = 0;
  let isAttaching = false;
  let isOver = false;
  let lastHeard = 0;

  const transmit = (packet: LinkPacket) =>
    current?.stream?.send(encodePacket(mark, { ...packet, epoch: current.epoch, isHeartbeat: isHeld() }));
  const link = createLink({
    transmit,
    onFrame: (bytes) => options.onFrame(decodeFrame(bytes)),
    onRoom: options.onRoom,
    onOverflow: () => lose('it has broken the protocol: it confirms nothing', true),
    isReliable: true,
  });

  function stop(): void {
    isOver = true;
    clearInterval(heartbeat);
  }

  function lose(why: string, hasBrokenProtocol = false): void {
    if (isOver) return;
    stop();
    current?.stream?.close();
    options.onLost(why, hasBrokenProtocol);
  }

  function receive(attempt: Attempt, packet: Packet): void {
    lastHeard = performance.now();
    if (packet.epoch !== attempt.epoch) throw new ProtocolError('a packet is of another stream');
    if (attempt.isWelcome) link.receive(packet);
    else if (packet.kind === 'welcome') begin(attempt, packet);
    else throw new ProtocolError('the first packet is not a welcome');
  }

  /** The supervisor has answered the hello. */
  function begin(attempt: Attempt, { number, payload }: Packet): void {
    attempt.isWelcome = true;
    brokenAt = undefined;
    failures = 0;
    const welcome = readWelcome(payload);
    link.resume(number);
    if (isNew) options.onWelcome(welcome);
    isNew = false;
  }

  /** Everything that the pod sends is taken here. */
  function readerOf(attempt: Attempt, key: string): (bytes: Buffer) => void {
    const decrypt = createDecryption(key);
    const read = createPacketReader({
      mark: () => mark,
      isStrict: true,
      onPacket: (packet) => receive(attempt, packet),
    });
    return (bytes) => {
      if (current !== attempt || isOver) return;
      try {
        read(decrypt(bytes));
      } catch (error) {
        const why = error instanceof ProtocolError ? error.message : 'a frame cannot be used';
        lose(`it has broken the protocol: ${why}`, true);
      }
    };
  }

  function greet(stream: PodStream, key: string): void {
    const hello: Hello = { protocol: protocolVersion, mark: mark.toString('base64'), session, isNew, key };
    const payload = Buffer.from(JSON.stringify(hello));
    const packet: Packet = { kind: 'hello', epoch, number: link.received(), isHeartbeat: true, payload };
    // Without an answer it is not known whether the supervisor has seen the first hello, and with it the mark.
    if (isNew) stream.send(encodePacket(firstMark, packet));
    stream.send(encodePacket(mark, packet));
  }

  async function attach(): Promise<void> {
    epoch += 1;
    const key = newKey();
    const attempt: Attempt = { epoch, stream: undefined, since: 0, isWelcome: false };
    current = attempt;
    const stream = await options.open({
      onOutput: readerOf(attempt, key),
      onClose: (why) => current === attempt && breakOff(why),
    });
    if (current !== attempt || isOver) return stream.close();
    attempt.stream = stream;
    attempt.since = performance.now();
    greet(stream, key);
  }

  /** The stream is of no use any more. */
  function breakOff(why: string): void {
    if (isOver) return;
    current?.stream?.close();
    current = undefined;
    link.pause();
    brokenAt ??= performance.now();
    if (!isAttaching) void attachAgain(why);
  }

  async function attachWithin(ms: number): Promise<string> {
    const over = new AbortController();
    const late = wait(ms, 'the connection to the pod could not be opened in time', { signal: over.signal });
    const failed = attach().then(
      () => '',
      (error: Error) => error.message,
    );
    const why = await Promise.race([failed, late.catch(() => '')]);
    over.abort();
    // A stream that is opened later is closed at once.
    if (current?.stream === undefined) current = undefined;
    return why;
  }

  async function attachAgain(why: string): Promise<void> {
    isAttaching = true;
    let last = why;
    while (!isOver && current === undefined) {
      // A stream that is closed before the supervisor has answered was a failure, too.
      if (failures > 0 && (await hasEnded())) break;
      if (failures > 0) await wait(times.againMs);
      const leftMs = times.silenceMs - (performance.now() - (brokenAt ?? 0));
      if (leftMs <= 0) break;
      failures += 1;
      if (isOver || !isHeld()) continue;
      const failure = await attachWithin(leftMs);
      last = last === '' ? failure : last;
    }
    isAttaching = false;
    if (current === undefined) lose(last);
  }

  function checkQuiet(): void {
    if (current?.stream === undefined || isOver) return;
    if (performance.now() - Math.max(lastHeard, current.since) > times.quietMs)
      breakOff('it does not answer');
  }

  const heartbeat = setInterval(() => {
    if (current?.stream === undefined) return;
    // Without pings there may be no answers.
    if (!isHeld()) current.since = performance.now();
    else if (current.isWelcome) link.ping();
    else transmit({ kind: 'ping', number: 0, payload: Buffer.alloc(0) });
    // If this process itself was late, what has arrived in the meantime is read first.
    setImmediate(checkQuiet);
  }, times.heartbeatMs);

  return {
    connect: async () => {
      await attach().catch((error: unknown) => {
        stop();
        throw error;
      });
    },
    send: link.send,
    hasRoom: link.hasRoom,
    close: () => {
      if (isOver) return;
      stop();
      const stream = current?.stream;
      setTimeout(() => stream?.close(), leaveMs).unref();
    },
  };
}
