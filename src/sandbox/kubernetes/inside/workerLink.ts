// The supervisor's end of the link to the worker. The worker may attach again at any time, also while an older stream still
// delivers something, which must have no effect then.
import { createEncryption } from '../cipher.ts';
import { decodeFrame, type Frame, ProtocolError } from '../frames.ts';
import { createLink, type LinkPacket } from '../link.ts';
import { createPacketReader, encodePacket, type Packet } from '../packets.ts';
import { firstMark, type Hello, protocolVersion, type Welcome } from '../protocol.ts';

interface WorkerLinkOptions {
  /** Everybody who is attached gets it, and nobody if there is none. */
  readonly write: (bytes: Buffer) => void;
  /** It may throw ProtocolError. */
  readonly onFrame: (frame: Frame) => void;
  readonly onRoom: () => void;
  /** The worker lives, and holds the lease of the conversation. */
  readonly onHeartbeat: () => void;
  /** The worker confirms nothing. */
  readonly onOverflow: () => void;
}

export interface WorkerLink {
  send(frame: Buffer): void;
  hasRoom(): boolean;
  /** Takes bytes as they come. Throws ProtocolError. */
  read(bytes: Buffer): void;
}

/** The session of a worker, and the stream that it has now. */
interface Session {
  readonly id: string;
  readonly epoch: number;
  encrypt(bytes: Buffer): Buffer;
}

export function createWorkerLink(options: WorkerLinkOptions): WorkerLink {
  const { write, onHeartbeat } = options;
  let mark = firstMark;
  let session: Session | undefined;

  function transmit({ kind, number, payload }: LinkPacket): void {
    if (session === undefined) return;
    write(session.encrypt(encodePacket(mark, { kind, epoch: session.epoch, number, payload })));
  }

  const link = createLink({
    transmit,
    onFrame: (bytes) => options.onFrame(decodeFrame(bytes)),
    onRoom: options.onRoom,
    onOverflow: options.onOverflow,
    // What an older stream still delivers can damage packets of the new one.
    isReliable: false,
  });

  /** The session begins, or goes on in a new stream. */
  function greet({ epoch, number, payload }: Packet): void {
    const hello = JSON.parse(payload.toString()) as Hello;
    if (session !== undefined && session.id !== hello.session) {
      if (hello.isNew) throw new ProtocolError('another session has begun');
      return;
    }
    if (session !== undefined && epoch <= session.epoch) return;
    const { prelude, encrypt } = createEncryption(hello.key);
    session = { id: hello.session, epoch, encrypt };
    mark = Buffer.from(hello.mark, 'base64');
    onHeartbeat();
    write(prelude);
    const welcome: Welcome = { protocol: protocolVersion, node: process.execPath };
    transmit({ kind: 'welcome', number: link.received(), payload: Buffer.from(JSON.stringify(welcome)) });
    link.resume(number);
  }

  const read = createPacketReader({
    mark: () => mark,
    isStrict: false,
    onPacket: (packet) => {
      if (packet.kind === 'hello') return greet(packet);
      if (packet.epoch !== session?.epoch) return;
      // A worker that has lost its lease may still confirm what it gets.
      if (packet.isHeartbeat) onHeartbeat();
      link.receive(packet);
    },
  });

  return { send: link.send, hasRoom: link.hasRoom, read };
}
