// Runs first in a sandbox with its own network, and opens the port of the bridge on its loopback interface. With a
// channel to the service it hands out the listener and exits, so that nothing of it stays; with the path of a socket it
// stays and forwards connections to it.
import { closeSync, openSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';

const connectionsMax = 256;
const standardOutput = 1;

function fail(error: Error): never {
  process.stderr.write(`The bridge of the sandbox could not be opened: ${error.message}\n`);
  process.exit(127);
}

function join(inner: Socket, path: string): void {
  const outer = connect({ path, allowHalfOpen: true });
  inner.on('error', () => outer.destroy());
  outer.on('error', () => inner.destroy());
  inner.on('close', () => outer.destroy());
  outer.on('close', () => inner.destroy());
  inner.pipe(outer).pipe(inner);
}

function handOut(listener: Server): void {
  process.once('message', () => process.exit(0));
  process.once('disconnect', () => fail(new Error('the service has gone')));
  process.send?.('listening', listener, {}, (error) => {
    if (error !== null) fail(error);
  });
}

const [port = '', socketPath] = process.argv.slice(2);
const listener = createServer({ allowHalfOpen: true });
listener.maxConnections = connectionsMax;
listener.on('error', fail);
if (socketPath !== undefined) listener.on('connection', (inner) => join(inner, socketPath));
listener.listen(Number(port), '127.0.0.1', () => {
  if (socketPath === undefined) return handOut(listener);
  // The end of our output says that the port is open. The descriptor must not be reused for a connection.
  closeSync(standardOutput);
  openSync('/dev/null', 'w');
});
