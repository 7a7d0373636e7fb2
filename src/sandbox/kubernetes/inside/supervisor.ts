// Runs in the pod of a conversation: starts and ends programs for the worker that is attached to it, and carries
// connections to the bridge. Everything in the pod ends with it, also when the heartbeats of the worker stop.
import { createServer, Socket } from 'node:net';
import { createEncryption } from '../cipher.ts';
import { createFrameReader } from '../frames.ts';
import { createMultiplexer, type Multiplexer } from '../multiplexer.ts';
import { bridgePort, type FromWorker, helloMsMax, protocolVersion, silenceMsMax } from '../protocol.ts';
import { createPrograms } from './programs.ts';

const connectionsMax = 256;
const lastReadMs = 1_000;
const exits = { asked: 0, workerGone: 10, brokenProtocol: 11, failed: 12 } as const;

/** The container ends with this process, and with it everything that runs in it. */
function end(code: number, why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(code);
}

/** Does not block, as the standard output of Node does. */
const output = new Socket({ fd: 1, readable: false, writable: true });
output.on('error', () => end(exits.workerGone, 'Standard output cannot be written.'));

let encrypt: ((bytes: Buffer) => Buffer) | undefined;
const programs = createPrograms(() => multiplexer);

const multiplexer: Multiplexer = createMultiplexer({
  side: 'supervisor',
  send: (bytes) => {
    if (encrypt !== undefined) output.write(encrypt(bytes));
  },
  onOpen: (channel, id) => void programs.start(id, channel),
  onControl: (message) => receive(message as FromWorker),
});

function receive(message: FromWorker): void {
  if ('hello' in message) greet(message.hello);
  else if ('ping' in message) multiplexer.control({ pong: true });
  else if ('kill' in message) void programs.kill(message.kill);
  else if ('sweep' in message) void programs.sweep();
  else if ('exit' in message) end(exits.asked, 'The worker has ended the pod.');
}

function greet({ key }: { readonly key: string }): void {
  encrypt = createEncryption(key);
  multiplexer.control({ hello: { protocol: protocolVersion, node: process.execPath } });
}

/** Programs reach the bridge on the loopback interface. */
const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
  try {
    const { channel } = multiplexer.open({ bridge: true });
    socket.on('error', () => channel.destroy());
    channel.on('error', () => socket.destroy());
    socket.on('close', () => channel.destroy());
    channel.on('close', () => socket.destroy());
    socket.pipe(channel).pipe(socket);
  } catch {
    socket.destroy();
  }
});
listener.maxConnections = connectionsMax;
listener.on('error', ({ message }) =>
  end(exits.failed, `The port of the bridge cannot be opened: ${message}`),
);
// Tests use another port.
listener.listen(Number(process.argv[2] ?? bridgePort), '127.0.0.1');

/** On a busy machine this process may be late itself, so it first reads what has arrived in the meantime. */
function endSoon(): void {
  silence = setTimeout(() => end(exits.workerGone, 'The worker sends no heartbeats.'), lastReadMs);
}

let silence = setTimeout(() => end(exits.workerGone, 'No worker has connected.'), helloMsMax);
const read = createFrameReader((frame) => multiplexer.receive(frame));
process.stdin.on('data', (bytes: Buffer) => {
  clearTimeout(silence);
  silence = setTimeout(endSoon, silenceMsMax - lastReadMs);
  try {
    read(bytes);
  } catch (error) {
    end(exits.brokenProtocol, `The worker has broken the protocol: ${(error as Error).message}.`);
  }
});
process.stdin.on('end', () => end(exits.workerGone, 'The worker has disconnected.'));
process.stdin.on('error', () => end(exits.workerGone, 'The worker has disconnected.'));
