// The first program in a sandbox that has a network of its own: opens the listener of the bridge on the loopback in
// there, hands it to the service outside, and becomes the program that was asked for. Nothing of it stays.
import { createServer } from 'node:net';

const [port = '', program = '', ...args] = process.argv.slice(2);
const listener = createServer();
listener.listen(Number(port), '127.0.0.1', () => {
  process.send?.('listening', listener);
  process.once('message', () => {
    process.disconnect?.();
    listener.close();
    delete process.env['NODE_CHANNEL_FD'];
    process.execve?.(program, [program, ...args], process.env as Record<string, string>);
  });
});
