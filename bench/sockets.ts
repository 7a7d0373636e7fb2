// A connection that is as cheap as possible: data is read into a buffer of the caller, and nothing is kept.
import { connect, type Socket } from 'node:net';

/** Resolves once connected. `onBytes` must not keep the bytes, because the buffer is reused. */
export function openSocket(port: number, buffer: Buffer, onBytes: (bytes: Buffer) => void): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const onread = {
    buffer,
    callback: (length: number) => {
      onBytes(buffer.subarray(0, length));
      return true;
    },
  };
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread }, () => resolve(socket));
  socket.on('error', reject);
  socket.on('close', () => reject(new Error('the server closed a connection')));
  return promise;
}
