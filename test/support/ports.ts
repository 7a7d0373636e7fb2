// Ports that nobody listens on, and that nobody takes before the test uses them.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems give to connections, and to servers that do not ask for a certain one. */
const [portMin, portMax] = [12_000, 29_999];
const given = new Set<number>();

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(portMin, portMax + 1);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
}
