// Deadlines that somebody must have enforced: without faults, nothing stays in a state for longer than it may.
import { agentStateOf } from '../../src/conversations/states.ts';
import type { Row } from './checker.ts';
import { sweepTimes } from './processes.ts';
import { Violation } from './world.ts';

/** For a sweep that has just missed it, what the sweep finds in its way, and the end of the run. */
const graceMs = 10_000;

interface Calm {
  readonly now: number;
  /** When the faults ended. Before that, there may have been nobody to enforce a deadline. */
  readonly calmSince: number;
  readonly unattendedMs: number;
}

export function checkDeadlines(rows: readonly Row[], { now, calmSince, unattendedMs }: Calm): void {
  for (const row of rows) {
    const { key, run_id: run, status, active_at: active, claimed_at: claimed } = row;
    const isOver = (since: number | null, ms: number) =>
      since !== null && now > Math.max(since + ms, calmSince) + graceMs;
    const expect = (holds: boolean, what: string) => {
      if (!holds)
        throw new Violation('deadline', `${key} is past its ${what}: ${JSON.stringify(row)} at ${now}`);
    };
    if (run === null || row.wanted !== null) continue;
    expect(!isOver(row.lease_until, 0), 'lease');
    const isStarting = status === 'STARTING' || row.runtime_status !== null;
    if (isStarting) {
      expect(!isOver(active, sweepTimes.startStalledMs), 'deadline for progress');
      expect(!isOver(claimed, sweepTimes.startMs), 'deadline for the start');
    }
    if (status === 'RUNNING') expect(!isOver(active, sweepTimes.idleMs), 'deadline for idle runs');
    const waits = !isStarting && agentStateOf(row) === 'awaiting_user_input' && row.heard > 0;
    if (unattendedMs > 0 && waits) expect(!isOver(active, unattendedMs), 'deadline for finished runs');
    const othersWait = rows.some(
      (other) =>
        other.user_id === row.user_id &&
        other.run_id === null &&
        other.status !== 'STOPPED' &&
        isOver(other.updated_at, sweepTimes.crowdedAskingMs),
    );
    if (row.question !== null && othersWait)
      expect(!isOver(active, sweepTimes.crowdedAskingMs), 'deadline for approval requests');
  }
}
