// socket.io clients and the sender in one process: each message is sent after all clients of its conversation have
// received the one before.
import { setTimeout as sleep } from 'node:timers/promises';
import { io, type Socket } from 'socket.io-client';
import { answerParent } from './child.ts';
import { cpuUs, residentBytes } from './processes.ts';
import { message, sessionKey } from './requests.ts';
import { median, percentile } from './statistics.ts';

export interface SocketPlan {
  readonly url: string;
  /** The process of the service, whose memory and CPU time are measured. */
  readonly pid: number;
  readonly conversations: readonly string[];
  readonly sockets: number;
  readonly messages: number;
  readonly settleMs: number;
}

export interface SocketResult {
  readonly openMs: number;
  /** Memory of the service without sockets and with them. */
  readonly bytes: { readonly before: number; readonly open: number };
  /** From just before a message is sent to its arrival. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Until the last socket has received it. */
  readonly lastMs: number;
  readonly cpuUs: number;
}

/** Connections that are being opened at the same time. */
const openingMax = 32;

async function openOne(url: string, id: string, onMessage: () => void): Promise<Socket> {
  const socket = io(url, {
    transports: ['websocket'],
    forceNew: true,
    reconnection: false,
    query: { conversation_id: id, latest_event_id: '-1', session_api_key: sessionKey },
  });
  const replayed = Promise.withResolvers<void>();
  socket.on('connect_error', replayed.reject);
  socket.on('oh_event', (event: { observation?: string; action?: string; args?: { content?: string } }) => {
    if (event.observation === 'agent_state_changed') replayed.resolve();
    if (event.action === 'message' && event.args?.content === message) onMessage();
  });
  await replayed.promise;
  socket.on('disconnect', () => {
    throw new Error('the server closed a socket');
  });
  return socket;
}

async function run({ url, pid, conversations, ...plan }: SocketPlan): Promise<SocketResult> {
  const before = residentBytes(pid);
  const openAt = performance.now();
  let onMessage = () => {};
  const first: Socket[] = [];
  let begun = 0;
  async function openMore(): Promise<void> {
    while (begun < plan.sockets) {
      const number = begun++;
      const id = conversations[number % conversations.length] ?? '';
      const socket = await openOne(url, id, () => onMessage());
      if (number < conversations.length) first[number] = socket;
    }
  }
  await Promise.all(Array.from({ length: openingMax }, openMore));
  const openMs = performance.now() - openAt;
  await sleep(plan.settleMs);
  const open = residentBytes(pid);

  const times: number[] = [];
  const lasts: number[] = [];
  async function sendOne(number: number): Promise<void> {
    const due = plan.sockets / conversations.length;
    const all = Promise.withResolvers<void>();
    const sentAt = performance.now();
    let count = 0;
    onMessage = () => {
      times.push(performance.now() - sentAt);
      if (++count === due) all.resolve();
    };
    first[number % conversations.length]?.emit('oh_user_action', {
      action: 'message',
      args: { content: message },
    });
    await all.promise;
    lasts.push(performance.now() - sentAt);
  }
  const cpuBefore = cpuUs(pid);
  for (let number = 0; number < plan.messages; number++) await sendOne(number);
  const cpu = cpuUs(pid) - cpuBefore;
  const sorted = Float64Array.from(times).sort();
  return {
    openMs,
    bytes: { before, open },
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    lastMs: median(lasts),
    cpuUs: cpu / times.length,
  };
}

if (import.meta.main) answerParent(run);
