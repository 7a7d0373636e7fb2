// The worker's end of the connection to a pod: starts programs in it, and hands its connections to the bridge. Nothing
// that the pod sends is trusted.
import type { Duplex } from 'node:stream';
import type { ProcessEnd, SandboxLoss, SandboxProcess } from '../sandbox.ts';
import { ProtocolError } from './frames.ts';
import { createMultiplexer } from './multiplexer.ts';
import { createPodLink, type OpenPodStream } from './podLink.ts';
import {
  type FromSupervisor,
  type FromWorker,
  type ProgramRequest,
  protocolVersion,
  requestSizeBytes,
  type Welcome,
} from './protocol.ts';

const helloMsMax = 20_000;
const startMsMax = 30_000;
const killMsMax = 8_000;

export interface PodConnection {
  /** The path of Node in the pod. */
  readonly node: string;
  /** Resolves when the connection is lost; never after `close`. */
  readonly lost: Promise<SandboxLoss>;
  start(request: ProgramRequest): Promise<SandboxProcess>;
  /** Ends whatever does not belong to a program that runs. */
  sweep(): void;
  /** Ends everything in the pod. */
  close(): void;
}

interface PodConnectionOptions {
  /** Opens a stream to the pod, at first and whenever the last one has broken. */
  readonly open: OpenPodStream;
  /** Takes a connection from a program to the bridge. Absent: there is no bridge. */
  readonly onBridge?: ((connection: Duplex) => void) | undefined;
  /** Heartbeats are sent as long as this returns true. */
  readonly isHeld: () => boolean;
  /** Whether the pod is known to have ended. Never rejects. */
  readonly hasEnded: () => Promise<boolean>;
  /** Explains why the pod has gone, before its programs are reported as ended. */
  readonly explain: (why: string, hasBrokenProtocol: boolean) => Promise<SandboxLoss>;
}

interface Program {
  readonly outputs: { stdout?: Duplex; stderr?: Duplex };
  readonly started: PromiseWithResolvers<void>;
  readonly ended: PromiseWithResolvers<ProcessEnd>;
}

const killed: ProcessEnd = { code: null, signal: 'SIGKILL' };

function settledWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  return Promise.race([work.then(() => true), late.promise]).finally(() => clearTimeout(timer));
}

function encodeRequest(request: ProgramRequest): Buffer {
  const text = Buffer.from(JSON.stringify(request));
  const size = Buffer.allocUnsafe(requestSizeBytes);
  size.writeUInt32BE(text.length, 0);
  return Buffer.concat([size, text]);
}

function isMessage(message: unknown): message is FromSupervisor {
  return typeof message === 'object' && message !== null;
}

/** Rejects if the pod does not answer as a supervisor of this version does. */
export async function connectToPod(options: PodConnectionOptions): Promise<PodConnection> {
  const { onBridge, explain } = options;
  const programs = new Map<number, Program>();
  const hello = Promise.withResolvers<string>();
  const lost = Promise.withResolvers<SandboxLoss>();
  let isOver = false;

  const multiplexer = createMultiplexer({
    side: 'worker',
    send: (frame) => link.send(frame),
    hasRoom: () => link.hasRoom(),
    onOpen: (channel, _, about) => accept(channel, about as Record<string, unknown> | null),
    onControl: (message) => {
      if (!isMessage(message)) throw new ProtocolError('a message is not an object');
      receive(message);
    },
  });
  const link = createPodLink({
    open: options.open,
    isHeld: options.isHeld,
    hasEnded: options.hasEnded,
    onWelcome: greet,
    onFrame: (frame) => multiplexer.receive(frame),
    onRoom: () => multiplexer.proceed(),
    onLost: (why, hasBrokenProtocol) => void lose(why, hasBrokenProtocol),
  });

  function accept(channel: Duplex, about: Record<string, unknown> | null): void {
    if (about?.['bridge'] === true) {
      if (onBridge === undefined) channel.destroy();
      else onBridge(channel);
      return;
    }
    const { output, of } = about ?? {};
    const outputs = programs.get(Number(of))?.outputs;
    if (
      (output !== 'stdout' && output !== 'stderr') ||
      outputs === undefined ||
      outputs[output] !== undefined
    )
      throw new ProtocolError('a channel was opened for no running program');
    outputs[output] = channel;
    // Only the program writes.
    channel.end();
  }

  function receive(message: FromSupervisor): void {
    if ('started' in message) programs.get(message.started)?.started.resolve();
    else if ('failed' in message) {
      const error = Object.assign(new Error('the program cannot be started'), { code: String(message.code) });
      programs.get(message.failed)?.started.reject(error);
      programs.delete(message.failed);
    } else if ('ended' in message) {
      const { ended: id, code, signal } = message;
      programs.get(id)?.ended.resolve({
        code: typeof code === 'number' ? code : null,
        signal: typeof signal === 'string' ? signal : null,
      });
      programs.delete(id);
    } else if ('released' in message) void lose('it got no heartbeats');
  }

  function greet({ protocol, node }: Welcome): void {
    if (protocol === protocolVersion) hello.resolve(node);
    else
      hello.reject(
        new Error('the image of the pod belongs to another version of Parley; build it again from this one'),
      );
  }

  /** Everything in the pod is over. */
  function giveUp(why: string): void {
    const error = new Error(why);
    hello.reject(error);
    multiplexer.close(error);
    for (const { started, ended } of programs.values()) {
      started.reject(error);
      ended.resolve(killed);
    }
    programs.clear();
  }

  async function lose(why: string, hasBrokenProtocol = false): Promise<void> {
    if (isOver) return;
    isOver = true;
    link.close();
    const loss = await explain(why, hasBrokenProtocol);
    lost.resolve(loss);
    // The run learns of the loss before its programs are reported as ended.
    setImmediate(() => giveUp(loss.sentence));
  }

  const say = (message: FromWorker) => multiplexer.control(message);
  hello.promise.catch(() => {
    // Awaited below, unless the stream cannot be opened.
  });
  await link.connect();

  function close(): void {
    if (isOver) return;
    say({ exit: true });
    isOver = true;
    link.close();
    giveUp('the sandbox is closed');
  }

  const late = setTimeout(() => void lose('its supervisor does not answer'), helloMsMax);
  const node = await hello.promise
    .catch((error: unknown) => {
      close();
      throw error;
    })
    .finally(() => clearTimeout(late));

  async function start(request: ProgramRequest): Promise<SandboxProcess> {
    if (isOver) throw new Error('the sandbox is closed');
    const { id, channel: stdin } = multiplexer.open({ program: true });
    const program: Program = {
      outputs: {},
      started: Promise.withResolvers(),
      ended: Promise.withResolvers(),
    };
    programs.set(id, program);
    stdin.resume();
    stdin.write(encodeRequest(request));
    program.started.promise.catch(() => {});
    const isInTime = await settledWithin(program.started.promise, startMsMax);
    const { stdout, stderr } = program.outputs;
    if (!isInTime || stdout === undefined || stderr === undefined) {
      say({ kill: id });
      throw new Error('the program did not start in time');
    }
    const ended = program.ended.promise;
    const kill = async () => {
      say({ kill: id });
      if (await settledWithin(ended, killMsMax)) return;
      program.ended.resolve(killed);
    };
    return { stdin, stdout, stderr, ended, kill };
  }

  return { node, lost: lost.promise, start, sweep: () => say({ sweep: true }), close };
}
