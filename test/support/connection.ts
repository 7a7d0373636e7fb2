// A raw connection, for what fetch hides: when bytes are sent, and when the server closes.
import { connect } from 'node:net';
import { until } from './until.ts';

export interface Connection {
  send(data: string | Uint8Array): void;
  received(): string;
  closed(): boolean;
  close(): void;
}

/** Connects. Throws if the connection is refused. */
export async function openConnection(url: string): Promise<Connection> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let received = '';
  let closed = false;
  let opened = false;
  let failure: Error | undefined;
  socket.setEncoding('utf8').on('data', (text) => (received += text));
  socket.on('connect', () => (opened = true));
  socket.on('error', (error) => (failure = error));
  socket.on('close', () => (closed = true));
  await until('the connection opens', () => {
    if (failure !== undefined) throw failure;
    return opened;
  });
  return {
    send: (data) => void socket.write(data),
    received: () => received,
    closed: () => closed,
    close: () => socket.destroy(),
  };
}
