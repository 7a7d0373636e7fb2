// Looks once a second for conversations that should have left their state, in every process: whoever is alive
// enforces the deadlines.
import type { Database } from '../db/transaction.ts';
import { agentStateChanged, eventText, questionExpired } from '../events/shapes.ts';
import { stopReason } from '../lifecycle/states.ts';
import { repeat } from '../repeat.ts';
import { conversationTopic, userTopic, workTopic } from '../topics.ts';
import { findOverdue, releaseExpired, type SweepTimes, stopOverdue } from './store.ts';

const everyMs = 1_000;
/** Of each kind, in one look; the rest has its turn a second later. */
const sweptMax = 100;

export const defaultTimes: SweepTimes = {
  startStalledMs: 120_000,
  startMs: 15 * 60_000,
  idleMs: 60 * 60_000,
  crowdedIdleMs: 20_000,
  crowdedAskingMs: 15 * 60_000,
};

interface SweepOptions {
  readonly database: Database;
  readonly onBackgroundError: (error: Error) => void;
  readonly times?: SweepTimes;
  readonly now?: () => number;
}

export function createSweep(options: SweepOptions) {
  const { database, onBackgroundError, times = defaultTimes, now = Date.now } = options;

  async function stopKind(kind: 'start' | 'idle'): Promise<void> {
    const reason = stopReason(kind === 'start' ? 'start_timeout' : 'idle');
    for (const key of await database.run(findOverdue, { kind, times, max: sweptMax })) {
      const at = new Date(now()).toISOString();
      const events = [eventText(agentStateChanged('stopped', reason.message), at)];
      const expired = eventText(questionExpired, at);
      const userId = await database.run(stopOverdue, { key, kind, times, reason, events, expired, at });
      if (userId !== undefined) database.ring([conversationTopic(key), userTopic(userId)]);
    }
  }

  async function sweepOnce(): Promise<void> {
    // Somebody may have room for it.
    for (const key of await database.run(findOverdue, { kind: 'lease', times, max: sweptMax }))
      if (await database.run(releaseExpired, { key, times })) database.ring([workTopic]);
    await stopKind('start');
    await stopKind('idle');
  }

  const { run, stop } = repeat(sweepOnce, everyMs, onBackgroundError);
  return { sweep: run, close: stop };
}
