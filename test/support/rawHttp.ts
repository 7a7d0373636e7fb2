// A raw connection for requests that no valid client sends.
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface RawConnection {
  readonly socket: Socket;
  /** Everything received so far. */
  received(): string;
  readonly closed: Promise<void>;
}

export function connectRaw(t: TestContext, port: number, text = ''): RawConnection {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  let received = '';
  socket.setEncoding('utf8').on('data', (piece: string) => {
    received += piece;
  });
  socket.on('error', () => {
    // The error shows as a closed connection.
  });
  if (text !== '') socket.write(text);
  return {
    socket,
    received: () => received,
    closed: new Promise((resolve) => socket.once('close', () => resolve())),
  };
}
