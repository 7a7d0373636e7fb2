// A connection as cheap as can be: what comes is read into a buffer that the caller gives, and nothing is kept.
import { connect, type Socket } from 'node:net';

/** Resolves once connected. `onBytes` must be done with the bytes when it returns: the buffer is used again. */
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
