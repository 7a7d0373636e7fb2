// Runs in the pod of a conversation: starts and ends programs for the worker that is attached to it, and carries
// connections to the bridge. When the heartbeats of the worker stop, all programs end, and another worker may take over.
// Everything in the pod ends with this process.
import { createServer, Socket } from 'node:net';
import { createMultiplexer, type Multiplexer } from '../multiplexer.ts';
import { bridgePort, type FromWorker, firstWaitMs, silenceMsMax, takeoverMsMax } from '../protocol.ts';
import { createPrograms } from './programs.ts';
import { createWorkerLink } from './workerLink.ts';

const connectionsMax = 256;
const lastReadMs = 1_000;
/** What waits to be written. It is more than a few streams can have been sent in vain. */
const outputBytesMax = 128 * 1_024 * 1_024;
const exits = { asked: 0, workerGone: 10, brokenProtocol: 11, failed: 12 } as const;

/** The container ends with this process, and with it everything that runs in it. */
function end(code: number, why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(code);
}

/** Does not block, as the standard output of Node does. */
const output = new Socket({ fd: 1, readable: false, writable: true });
output.on('error', () => end(exits.workerGone, 'Standard output cannot be written.'));

/** What one worker has in the pod. Nothing of it is left when another one takes over. */
function createTenancy() {
  let isOver = false;
  const programs = createPrograms(() => multiplexer);
  const link = createWorkerLink({
    write: (bytes) => {
      if (isOver) return;
      output.write(bytes);
      if (output.writableLength > outputBytesMax) end(exits.failed, 'Nobody reads what is written.');
    },
    onFrame: (frame) => multiplexer.receive(frame),
    onRoom: () => multiplexer.proceed(),
    onHeartbeat: keepAlive,
    onOverflow: () => end(exits.failed, 'The worker confirms nothing.'),
  });
  const multiplexer: Multiplexer = createMultiplexer({
    side: 'supervisor',
    send: link.send,
    hasRoom: link.hasRoom,
    onOpen: (channel, id) => void programs.start(id, channel),
    onControl: (message) => receive(message as FromWorker),
  });

  function receive(message: FromWorker): void {
    if ('kill' in message) void programs.kill(message.kill);
    else if ('sweep' in message) void programs.sweep();
    else if ('exit' in message) end(exits.asked, 'The worker has ended the pod.');
  }

  return {
    link,
    multiplexer,
    /** Ends all programs. Returns false if that was not possible. */
    end: async () => {
      const hasEnded = await programs.endAll();
      multiplexer.control({ released: true });
      multiplexer.close(new Error('the worker is gone'));
      isOver = true;
      return hasEnded;
    },
  };
}

let tenancy = createTenancy();

/** Programs reach the bridge on the loopback interface. */
const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
  try {
    // Connections must not pile up while there is no worker.
    if (!tenancy.link.hasRoom()) throw new Error('there is no room');
    const { channel } = tenancy.multiplexer.open({ bridge: true });
    socket.on('error', () => channel.destroy());
    channel.on('error', () => socket.destroy());
    // After a proper end, the rest is still on its way.
    socket.on('close', () => (socket.readableEnded && socket.writableFinished) || channel.destroy());
    channel.on('close', () => channel.readableEnded || socket.destroy());
    socket.pipe(channel).pipe(socket);
  } catch {
    socket.destroy();
  }
});
listener.maxConnections = connectionsMax;
listener.on('error', ({ message }) =>
  end(exits.failed, `The port of the bridge cannot be opened: ${message}`),
);
// Tests use another port, and do not wait so long.
listener.listen(Number(process.argv[2] ?? bridgePort), '127.0.0.1');
const takeoverMs = Number(process.argv[3] ?? takeoverMsMax);

/** Ends what belongs to the worker, and waits for another one. */
async function release(): Promise<void> {
  isReleasing = true;
  if (!(await tenancy.end())) end(exits.workerGone, 'The worker sends no heartbeats, and its programs stay.');
  tenancy = createTenancy();
  isReleasing = false;
  silence = setTimeout(() => end(exits.workerGone, 'No other worker has taken over.'), takeoverMs);
}

/** On a busy machine this process may be late itself, so it first reads what has arrived in the meantime. */
function releaseSoon(): void {
  silence = setTimeout(release, lastReadMs);
}

let isReleasing = false;
const waitMs = firstWaitMs(process.env);
let silence =
  waitMs === undefined
    ? undefined
    : setTimeout(() => end(exits.workerGone, 'No worker has connected.'), waitMs);

function keepAlive(): void {
  if (isReleasing) return;
  clearTimeout(silence);
  silence = setTimeout(releaseSoon, silenceMsMax - lastReadMs);
}

process.stdin.on('data', (bytes: Buffer) => {
  // A worker that comes too late must not start anything. One that takes over tries again.
  if (isReleasing) return;
  try {
    tenancy.link.read(bytes);
  } catch (error) {
    end(exits.brokenProtocol, `The worker has broken the protocol: ${(error as Error).message}.`);
  }
});
process.stdin.on('end', () => end(exits.workerGone, 'The worker has disconnected.'));
process.stdin.on('error', () => end(exits.workerGone, 'The worker has disconnected.'));
