// Stands between one process and PostgreSQL. It can hold bytes back, refuse connections, and lose the answer to a
// COMMIT that the server has carried out.
import { connect, createServer, type Socket } from 'node:net';

export interface PgProxy {
  readonly url: string;
  /** Until told otherwise no byte passes in either direction; nothing is lost, it only comes late. */
  hold(held: boolean): void;
  /** Until told otherwise new connections are broken at once, as are those that are there. */
  refuse(refusing: boolean): void;
  /** The next so many COMMITs reach the server, and their connections break before the answer. */
  cutAfterCommits(count: number): void;
  /** COMMITs whose answer was lost so far. */
  commitsCut(): number;
  close(): Promise<void>;
}

const lengthBytes = 4;
const typedHeadBytes = 5;
const simpleQuery = 'Q'.charCodeAt(0);
const parse = 'P'.charCodeAt(0);

/** Reads what a client sends, message by message, and tells of each COMMIT. */
function createCommitWatch(onCommit: () => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let greeted = false;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      // The first message has no type.
      const head = greeted ? typedHeadBytes : lengthBytes;
      if (rest.length < head) return;
      const end = head - lengthBytes + rest.readUInt32BE(head - lengthBytes);
      if (rest.length < end) return;
      const type = rest[0];
      const body = rest.subarray(head, end);
      if (
        greeted &&
        (type === simpleQuery || type === parse) &&
        /^[^a-z]*commit\b/i.test(body.toString('latin1'))
      )
        onCommit();
      greeted = true;
      rest = rest.subarray(end);
    }
  };
}

export async function startPgProxy(databaseUrl: string): Promise<PgProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let [held, refusing, toCut, cut] = [false, false, 0, 0];

  function keep(socket: Socket, other: () => Socket): void {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      other().destroy();
    });
    if (held) socket.pause();
  }

  const server = createServer((client) => {
    client.on('error', () => {});
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const far = connect({ host: target.hostname, port: Number(target.port) });
    let loseAnswer = false;
    const watch = createCommitWatch(() => {
      if (toCut === 0) return;
      toCut -= 1;
      cut += 1;
      loseAnswer = true;
    });
    client.on('data', (bytes: Buffer) => {
      watch(bytes);
      far.write(bytes);
    });
    far.on('data', (bytes: Buffer) => {
      if (loseAnswer) client.resetAndDestroy();
      else client.write(bytes);
    });
    keep(client, () => far);
    keep(far, () => client);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = new URL(databaseUrl);
  url.port = String((server.address() as { port: number }).port);
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };

  return {
    url: url.href,
    hold: (value) => {
      held = value;
      for (const socket of sockets)
        if (held) socket.pause();
        else socket.resume();
    },
    refuse: (value) => {
      refusing = value;
      if (refusing) breakAll();
    },
    cutAfterCommits: (count) => {
      toCut = count;
    },
    commitsCut: () => cut,
    close: async () => {
      breakAll();
      await new Promise((done) => server.close(done));
    },
  };
}
