// Measures many subscribers: the memory of an open stream, and how soon a message reaches all of them.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createStorage } from '../test/support/databases.ts';
import { runChild } from './child.ts';
import { createConversations } from './conversations.ts';
import type { Lifetime } from './lifetime.ts';
import { loadedServer } from './loadProcess.ts';
import type { Plan } from './plan.ts';
import { openFilesMax } from './processes.ts';
import { atLeast, decimals, type PartReport, whole } from './report.ts';
import { followConversation, sendMessage, wireRequest } from './requests.ts';
import { startService } from './service.ts';
import type { StreamPlan, StreamResult } from './streamLoad.ts';

const streamLoad = fileURLToPath(new URL('./streamLoad.ts', import.meta.url));
const streamsTarget = 10_000;
/** Files that a process has open besides its streams. */
const otherFilesMax = 500;
/** With fewer streams, the memory of one is lost in the noise. */
const readersMin = 1_000;
/** A new conversation has its message and its first state. */
const lastEvent = 1;
const timeoutMs = 120_000;

interface Audience {
  readonly conversations: number;
  readonly readers: number;
}

interface Outcome extends Audience {
  readonly wanted: number;
  readonly result: StreamResult;
}

const heads = [
  'conversations',
  'readers',
  'opened a second',
  'KB a reader',
  'KB a reader, after the messages',
  'answer, ms',
  'delivery p50 ms',
  'p99 ms',
  'last reader, ms',
  'from the answer p50 ms',
  'p99 ms',
  'CPU µs a delivery',
];

/** As many as the system allows a process to open, distributed evenly. */
function possible({ conversations, readers }: Audience): number {
  const most = Math.min(readers, openFilesMax() - otherFilesMax);
  return most - (most % conversations);
}

async function measure(lifetime: Lifetime, plan: Plan, crowd: Audience): Promise<Outcome> {
  const { conversations } = crowd;
  const { settleMs, messages } = plan.streams;
  const readers = possible(crowd);
  process.stderr.write(`streams: ${whole(readers)} readers of ${whole(conversations)} …\n`);
  const storage = await createStorage('sqlite');
  const service = await startService(lifetime, storage);
  const { url } = service;
  const ids = await createConversations(url, conversations);
  await sleep(settleMs);
  const streamPlan: StreamPlan = {
    servers: [loadedServer(service)],
    follows: ids.map((id) => wireRequest(followConversation(id), url)),
    messages: ids.map((id) => wireRequest(sendMessage(id), url)),
    lastEvent,
    readers,
    ...(readers / conversations < readersMin ? messages.few : messages.many),
    settleMs,
  };
  const result = await runChild<StreamPlan, StreamResult>(lifetime, streamLoad, streamPlan, timeoutMs);
  await service.stop();
  await storage.remove();
  return { ...crowd, wanted: crowd.readers, readers, result };
}

function row({ conversations, wanted, readers, result }: Outcome): string[] {
  const { bytes, fromSend, fromAnswer } = result;
  const one = decimals(1);
  const two = decimals(2);
  const kilobytes = (grown: number) => (readers < readersMin ? '–' : one(grown / readers / 1_000));
  return [
    whole(conversations),
    wanted === readers ? whole(readers) : `${whole(readers)} of ${whole(wanted)}: too few files may be open`,
    readers < readersMin ? '–' : whole((readers * 1_000) / result.openMs),
    kilobytes(bytes.open - bytes.before),
    kilobytes(bytes.after - bytes.before),
    two(result.answerMs),
    two(fromSend.p50Ms),
    two(fromSend.p99Ms),
    two(result.lastMs),
    two(fromAnswer.p50Ms),
    two(fromAnswer.p99Ms),
    one(result.cpuUs),
  ];
}

/** A stream counts as open only if every message reaches every subscriber once and in order. */
export async function measureStreams(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const outcomes: Outcome[] = [];
  for (const crowd of plan.streams.audiences) outcomes.push(await measure(lifetime, plan, crowd));
  const most = Math.max(...outcomes.map(({ readers }) => readers));
  const note =
    'Each reader is a connection of its own. A message is sent when all readers have the one before; delivery counts from just before it is sent, and includes the time that the readers themselves take, all in one process. Below zero: it was there before the answer.';
  return {
    tables: [{ title: 'Streams on SQLite', heads, rows: outcomes.map(row), note }],
    figures: [atLeast('Open streams', most, streamsTarget, whole)],
  };
}
