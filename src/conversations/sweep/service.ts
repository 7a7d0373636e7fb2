// Finds conversations that are stuck in their state, once a second. Every process does this, so deadlines are enforced
// as long as any process is alive.
import { conversationTopic, userTopic, workTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { agentStateChanged, approvalRequestExpired, eventText } from '../../events/shapes.ts';
import { type Clock, systemClock, timestamp } from '../../process/clock.ts';
import { repeat } from '../../process/repeat.ts';
import { type StopReason, stopReason } from '../states.ts';
import { createClockWatch } from './clock.ts';
import { adjustRuns, readClock } from './clockStore.ts';
import { endReservations, findEndedReservations } from './reservationStore.ts';
import { findRoom } from './roomStore.ts';
import { findOverdue, type OverdueKind, releaseExpired, type SweepTimes, stopOverdue } from './store.ts';

const everyMs = 1_000;
/** Shorter than `everyMs`, so that a waiting conversation gets the slot of an idle run within a second. */
const roomEveryMs = 500;
/** How many conversations of each kind are handled at once; the rest follow a second later. */
const sweptMax = 100;
/** How many reservations of a machine end at once. */
const endedReservationsMax = 1_000;

export const defaultTimes: SweepTimes = {
  startStalledMs: 120_000,
  startMs: 15 * 60_000,
  idleMs: 60 * 60_000,
  crowdedIdleMs: 400,
  crowdedWaitMs: 200,
  crowdedAskingMs: 15 * 60_000,
};

const madeRoom =
  'The conversation was idle, and others waited for a free worker. Send a message to resume it.';

type StoppedKind = Exclude<OverdueKind, 'lease'>;

/** Every living run renews its lease within this time. */
const leasesRenewedMs = 8_000;

interface SweepOptions {
  readonly database: Database;
  /** Whether this process's worker has no free slot. Always false in a process without a worker. */
  readonly isFull: () => boolean;
  /** How many runs one user may have at the same time; 0 means no limit. */
  readonly userRunsMax: number;
  /** The machine of this process; absent if it is the only one. */
  readonly nodeId?: string | undefined;
  /** Called after the clock of the database has jumped. */
  readonly onClockSet?: () => void;
  /** Reads the clock of the database; tests replace it. */
  readonly readWall?: () => Promise<number>;
  readonly onBackgroundError: (error: Error) => void;
  readonly times?: SweepTimes;
  readonly clock?: Clock;
}

export function createSweep(options: SweepOptions) {
  const { database, isFull, userRunsMax, onBackgroundError, times = defaultTimes } = options;
  const { onClockSet, nodeId = '', clock = systemClock } = options;
  const { readWall = () => database.run(readClock, null) } = options;
  const databaseClock = createClockWatch(clock.steady);
  let begun = false;
  let wasSet = false;

  /** Repairs stored times after a clock change, also after one that no process observed. Returns the clock's reading. */
  async function watchClock(): Promise<number> {
    const before = clock.steady();
    const wall = await readWall();
    const isSet = databaseClock.see({ wall, before, after: clock.steady() });
    wasSet ||= isSet;
    if (begun && !isSet) return wall;
    await database.run(adjustRuns, { all: isSet });
    if (isSet) onClockSet?.();
    begun = true;
    return wall;
  }

  async function releaseDead(seenAt: number): Promise<void> {
    const clockIsSteady = databaseClock.steadyForMs() >= leasesRenewedMs;
    if (wasSet && !clockIsSteady) return;
    const judged = { ...times, clockIsSteady, seenAt };
    for (const key of await database.run(findOverdue, { kind: 'lease', times: judged, max: sweptMax })) {
      const at = timestamp(clock);
      const userId = await database.run(releaseExpired, { key, times: judged, at });
      if (userId !== undefined) database.notify([conversationTopic(key), userTopic(userId), workTopic]);
    }
  }

  /** Lets other machines take conversations that wait for theirs in vain. */
  async function endLateReservations(): Promise<void> {
    const keys = await database.run(findEndedReservations, endedReservationsMax);
    if (keys.length === 0) return;
    const ended = await database.run(endReservations, { keys, userRunsMax });
    if (ended > 0) database.notify([workTopic]);
  }

  async function stop(key: number, kind: StoppedKind, reason: StopReason, judged = times): Promise<void> {
    const at = timestamp(clock);
    const events = [eventText(agentStateChanged('stopped', reason.message), at)];
    const expired = eventText(approvalRequestExpired, at);
    const input = { key, kind, times: judged, reason, events, expired, at };
    const userId = await database.run(stopOverdue, input);
    if (userId !== undefined) database.notify([conversationTopic(key), userTopic(userId)]);
  }

  async function stopKind(
    kind: Exclude<StoppedKind, 'room'>,
    reason: StopReason,
    seenAt: number,
  ): Promise<void> {
    const judged = { ...times, seenAt };
    for (const key of await database.run(findOverdue, { kind, times: judged, max: sweptMax }))
      await stop(key, kind, reason, judged);
  }

  async function sweepOnce(): Promise<void> {
    const seenAt = await watchClock();
    await releaseDead(seenAt);
    await endLateReservations();
    await stopKind('start', stopReason('start_timeout'), seenAt);
    await stopKind('idle', stopReason('idle'), seenAt);
    if (times.unattendedMs) await stopKind('unattended', stopReason('finished'), seenAt);
  }

  async function makeRoom(): Promise<void> {
    const query = { times, max: sweptMax, isFull: isFull(), userRunsMax, nodeId };
    for (const key of await database.run(findRoom, query))
      await stop(key, 'room', stopReason('idle', madeRoom));
  }

  const deadlines = repeat(sweepOnce, everyMs, onBackgroundError, clock);
  const room = repeat(makeRoom, roomEveryMs, onBackgroundError, clock);
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
