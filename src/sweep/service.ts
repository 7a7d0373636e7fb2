// Looks once a second for conversations that should have left their state, in every process: whoever is alive
// enforces the deadlines.
import type { Database } from '../db/transaction.ts';
import { agentStateChanged, eventText, questionExpired } from '../events/shapes.ts';
import { type StopReason, stopReason } from '../lifecycle/states.ts';
import { repeat } from '../repeat.ts';
import { conversationTopic, userTopic, workTopic } from '../topics.ts';
import {
  findOverdue,
  findRoom,
  type OverdueKind,
  releaseExpired,
  type SweepTimes,
  stopOverdue,
} from './store.ts';

const everyMs = 1_000;
/** Room is looked for more often: who waits is to have it within a second of somebody's last work. */
const roomEveryMs = 500;
/** Of each kind, in one look; the rest has its turn a second later. */
const sweptMax = 100;

export const defaultTimes: SweepTimes = {
  startStalledMs: 120_000,
  startMs: 15 * 60_000,
  idleMs: 60 * 60_000,
  crowdedIdleMs: 400,
  crowdedWaitMs: 200,
  crowdedAskingMs: 15 * 60_000,
};

const madeRoom = 'It had nothing to do, and others waited for a free worker. A message starts it again.';

type StoppedKind = Exclude<OverdueKind, 'lease'>;

interface SweepOptions {
  readonly database: Database;
  readonly onBackgroundError: (error: Error) => void;
  readonly times?: SweepTimes;
  readonly now?: () => number;
}

export function createSweep(options: SweepOptions) {
  const { database, onBackgroundError, times = defaultTimes, now = Date.now } = options;

  async function stop(key: number, kind: StoppedKind, reason: StopReason): Promise<void> {
    const at = new Date(now()).toISOString();
    const events = [eventText(agentStateChanged('stopped', reason.message), at)];
    const expired = eventText(questionExpired, at);
    const userId = await database.run(stopOverdue, { key, kind, times, reason, events, expired, at });
    if (userId !== undefined) database.ring([conversationTopic(key), userTopic(userId)]);
  }

  async function stopKind(kind: 'start' | 'idle', reason: StopReason): Promise<void> {
    for (const key of await database.run(findOverdue, { kind, times, max: sweptMax }))
      await stop(key, kind, reason);
  }

  async function sweepOnce(): Promise<void> {
    // Somebody may have room for it.
    for (const key of await database.run(findOverdue, { kind: 'lease', times, max: sweptMax })) {
      const userId = await database.run(releaseExpired, { key, times, at: new Date(now()).toISOString() });
      if (userId !== undefined) database.ring([conversationTopic(key), userTopic(userId), workTopic]);
    }
    await stopKind('start', stopReason('start_timeout'));
    await stopKind('idle', stopReason('idle'));
  }

  async function makeRoom(): Promise<void> {
    for (const key of await database.run(findRoom, { times, max: sweptMax }))
      await stop(key, 'room', stopReason('idle', madeRoom));
  }

  const deadlines = repeat(sweepOnce, everyMs, onBackgroundError);
  const room = repeat(makeRoom, roomEveryMs, onBackgroundError);
  return {
    sweep: async () => {
      await deadlines.run();
      await room.run();
    },
    close: async () => {
      await Promise.all([deadlines.stop(), room.stop()]);
    },
  };
}
