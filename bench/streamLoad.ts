// Subscribers and the sender in one process, so that one clock measures both: many raw sockets stream conversations, and
// one sends messages to them, each after all subscribers have received the one before.
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerReader } from './answerReader.ts';
import { answerParent } from './child.ts';
import { eventReader } from './eventReader.ts';
import type { LoadedServer } from './load.ts';
import { cpuUs, residentBytes } from './processes.ts';
import { openSocket } from './sockets.ts';
import { median, percentile } from './statistics.ts';

export interface StreamPlan {
  /**
   * The processes of the service, whose memory and CPU time are measured. The first one gets the messages; the
   * subscribers of each conversation are distributed evenly.
   */
  readonly servers: readonly LoadedServer[];
  /** The requests that stream each conversation. Subscribers are distributed evenly. */
  readonly follows: readonly string[];
  /** The requests that send a message to the same conversations. */
  readonly messages: readonly string[];
  /** The last event of each conversation at the start. */
  readonly lastEvent: number;
  readonly readers: number;
  /** Messages at the start, which are not counted. */
  readonly warmups: number;
  readonly counted: number;
  readonly settleMs: number;
}

export interface Delivery {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface StreamResult {
  readonly openMs: number;
  /** Memory of the service without readers, with them, and after the messages. */
  readonly bytes: { readonly before: number; readonly open: number; readonly after: number };
  /** The time until the response to the message. */
  readonly answerMs: number;
  readonly fromSend: Delivery;
  readonly fromAnswer: Delivery;
  /** The time until the last subscriber has received the message. */
  readonly lastMs: number;
  /** The CPU time of the service, all threads, for one message to one subscriber. */
  readonly cpuUs: number;
  readonly deliveries: number;
}

const readBytes = 65_536;
/** Connections that are being opened at the same time. */
const openingMax = 128;

interface Message {
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly deliveredAt: Float64Array;
}

/** Collects the deliveries of the current message. */
function createArrivals(readers: number) {
  const times = new Float64Array(readers);
  let due = 0;
  let count = 0;
  let all = Promise.withResolvers<void>();
  return {
    expect: (number: number): Promise<void> => {
      [due, count, all] = [number, 0, Promise.withResolvers()];
      return all.promise;
    },
    note: (): void => {
      if (count >= due) throw new Error('more came than was sent');
      times[count++] = performance.now();
      if (count === due) all.resolve();
    },
    times: (): Float64Array => times.slice(0, count),
  };
}

function failOnClose(socket: Socket): void {
  socket.on('close', () => {
    throw new Error('the server closed a connection');
  });
}

/** Opens the streams with limited concurrency. Each is open once it has received the stored events. */
async function openReaders(plan: StreamPlan, note: () => void): Promise<void> {
  // Only one callback at a time uses it.
  const buffer = Buffer.allocUnsafe(readBytes);
  const { servers } = plan;
  const follows = plan.follows.map((request) => Buffer.from(request));
  let begun = 0;
  async function openOne(number: number): Promise<void> {
    const caughtUp = Promise.withResolvers<void>();
    const read = eventReader((id) => {
      if (id > plan.lastEvent) note();
      else if (id === plan.lastEvent) caughtUp.resolve();
    });
    const { port = 0 } = servers[Math.floor(number / follows.length) % servers.length] ?? {};
    const socket = await openSocket(port, buffer, read);
    failOnClose(socket);
    socket.write(follows[number % follows.length] ?? '');
    await caughtUp.promise;
  }
  async function repeat(): Promise<void> {
    while (begun < plan.readers) await openOne(begun++);
  }
  await Promise.all(Array.from({ length: openingMax }, repeat));
}

async function openWriter({ servers, messages }: StreamPlan) {
  const { port = 0 } = servers[0] ?? {};
  const requests = messages.map((message) => Buffer.from(message));
  let answered = Promise.withResolvers<number>();
  const read = answerReader(() => answered.resolve(performance.now()));
  const socket = await openSocket(port, Buffer.allocUnsafe(readBytes), read);
  failOnClose(socket);
  /** Resolves with the time of the response. */
  return (number: number): Promise<number> => {
    answered = Promise.withResolvers();
    socket.write(requests[number % requests.length] ?? '');
    return answered.promise;
  };
}

function describe(values: Float64Array): Delivery {
  values.sort();
  return { p50Ms: percentile(values, 0.5), p99Ms: percentile(values, 0.99) };
}

function since(messages: readonly Message[], begin: (message: Message) => number): Delivery {
  const all = messages.flatMap((message) => [...message.deliveredAt].map((at) => at - begin(message)));
  return describe(Float64Array.from(all));
}

async function run(plan: StreamPlan): Promise<StreamResult> {
  const { servers, readers, warmups, counted, settleMs } = plan;
  const sum = (of: (pid: number) => number) => servers.reduce((total, { pid }) => total + of(pid), 0);
  const arrivals = createArrivals(readers);
  const before = sum(residentBytes);
  const openAt = performance.now();
  await openReaders(plan, arrivals.note);
  const openMs = performance.now() - openAt;
  await sleep(settleMs);
  const open = sum(residentBytes);
  // Opened only now, because the service closes idle connections.
  const write = await openWriter(plan);

  async function sendOne(number: number): Promise<Message> {
    const all = arrivals.expect(readers / plan.follows.length);
    const sentAt = performance.now();
    const [answeredAt] = await Promise.all([write(number), all]);
    return { sentAt, answeredAt, deliveredAt: arrivals.times() };
  }
  for (let number = 0; number < warmups; number++) await sendOne(number);
  const messages: Message[] = [];
  const cpuBefore = sum(cpuUs);
  for (let number = 0; number < counted; number++) messages.push(await sendOne(number));
  const cpu = sum(cpuUs) - cpuBefore;
  const deliveries = messages.reduce((count, { deliveredAt }) => count + deliveredAt.length, 0);
  return {
    openMs,
    bytes: { before, open, after: sum(residentBytes) },
    answerMs: median(messages.map(({ sentAt, answeredAt }) => answeredAt - sentAt)),
    fromSend: since(messages, ({ sentAt }) => sentAt),
    fromAnswer: since(messages, ({ answeredAt }) => answeredAt),
    lastMs: median(messages.map(({ sentAt, deliveredAt }) => Math.max(...deliveredAt) - sentAt)),
    cpuUs: cpu / deliveries,
    deliveries,
  };
}

if (import.meta.main) answerParent(run);
