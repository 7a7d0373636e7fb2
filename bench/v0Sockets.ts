// Measures the sockets of existing clients: their memory, and how soon a message reaches them.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createStorage } from '../test/support/databases.ts';
import { runChild } from './child.ts';
import { createConversations } from './conversations.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { atLeast, decimals, type PartReport, whole } from './report.ts';
import { startService } from './service.ts';
import type { SocketPlan, SocketResult } from './v0SocketLoad.ts';

const socketLoad = fileURLToPath(new URL('./v0SocketLoad.ts', import.meta.url));
const socketsTarget = 1_000;
const timeoutMs = 120_000;

const heads = [
  'conversations',
  'sockets',
  'opened a second',
  'KB a socket',
  'delivery p50 ms',
  'p99 ms',
  'last socket, ms',
  'CPU µs a delivery',
];

export async function measureV0Sockets(
  lifetime: Lifetime,
  { v0Sockets, streams }: Plan,
): Promise<PartReport> {
  const rows: string[][] = [];
  for (const conversations of [1, 100]) {
    process.stderr.write(`v0-sockets: ${whole(socketsTarget)} of ${whole(conversations)} …\n`);
    const storage = await createStorage('sqlite');
    const { url, pid, stop } = await startService(lifetime, storage);
    const ids = await createConversations(url, conversations);
    await sleep(streams.settleMs);
    const plan: SocketPlan = {
      url,
      pid,
      conversations: ids,
      sockets: socketsTarget,
      messages: v0Sockets.messages,
      settleMs: streams.settleMs,
    };
    const result = await runChild<SocketPlan, SocketResult>(lifetime, socketLoad, plan, timeoutMs);
    await stop();
    await storage.remove();
    const [one, two] = [decimals(1), decimals(2)];
    rows.push([
      whole(conversations),
      whole(socketsTarget),
      whole((socketsTarget * 1_000) / result.openMs),
      one((result.bytes.open - result.bytes.before) / socketsTarget / 1_000),
      two(result.p50Ms),
      two(result.p99Ms),
      two(result.lastMs),
      one(result.cpuUs),
    ]);
  }
  const note =
    'Each is a socket.io client over WebSocket, all in one process, whose time is included. A message is sent by one of them, and counts from just before it is sent.';
  return {
    tables: [{ title: 'socket.io on SQLite', heads, rows, note }],
    figures: [atLeast('Sockets of existing clients', socketsTarget, socketsTarget, whole)],
  };
}
