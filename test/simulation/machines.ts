// A conversation goes back to the machine that has its files, for a limited time: nobody else claims it before while a
// worker there is alive, and somebody with a free slot claims it afterwards.
import { onlyCopyWaitMs, restorableWaitMs } from '../../src/conversations/reservation.ts';
import type { Row } from './checker.ts';
import type { Store } from './store.ts';
import { Violation, type World } from './world.ts';

/** A worker that was seen so recently is waited for. */
const freshMs = 5_000;
/** One that is waited for counts as dead when it has not been seen for so long. */
const goneMs = 20_000;
/** How long a free worker may take to notice, without faults. */
const noticeMs = 8_000;

interface Heartbeats {
  readonly node: string;
  /** When it was seen and took work; emptied when it says that it stops. */
  times: number[];
}

export interface MachineCheck {
  /** Called after a heartbeat of a process. */
  noteHeartbeat(heartbeat: { processId: string; nodeId: string; takesWork: boolean }): void;
  noteEnd(processId: string): void;
  /** Called after every change of a row. */
  noteRow(before: Row | undefined, after: Row): void;
  /** Throws if a process of this machine may not claim the conversation yet. */
  checkClaim(before: Row, nodeId: string | undefined): void;
  /** Called again and again without faults. `isFree`: there is a free slot. Throws if it was free for too long. */
  checkWaiting(rows: readonly Row[], isFree: boolean, userRunsMax: number): void;
}

export function createMachineCheck(world: World, store: Store): MachineCheck {
  const workers = new Map<string, Heartbeats>();
  /** Since when each conversation waits. */
  const waiting = new Map<number, number>();
  /** Since when somebody could have claimed it. */
  const claimable = new Map<number, number>();

  const isWaiting = (row: Row | undefined) =>
    row !== undefined && row.run_id === null && row.status !== 'STOPPED';

  function boundOf({ key }: Row): number {
    const query =
      'select 1 from snapshots where conversation_key = ? and removed_at is null and blob is not null';
    return store.select(query, key).length > 0 ? restorableWaitMs : onlyCopyWaitMs;
  }

  /** Whether one worker of the machine was alive all the time since then, as everybody could see. */
  function wasAlive(node: string, since: number): boolean {
    const now = world.now();
    return [...workers.values()].some((worker) => {
      if (worker.node !== node) return false;
      // One of the same millisecond may have come later.
      const first = worker.times.findLastIndex((time) => time < since);
      const seen = [...worker.times.slice(Math.max(0, first)), now];
      const isUnbroken = seen.every((time, i) => i === 0 || time - (seen[i - 1] ?? 0) < goneMs);
      return first >= 0 && (worker.times[first] ?? 0) > since - freshMs && isUnbroken;
    });
  }

  return {
    noteHeartbeat: ({ processId, nodeId, takesWork }) => {
      const worker = workers.get(processId) ?? { node: nodeId, times: [] };
      if (takesWork) worker.times.push(world.now());
      else worker.times = [];
      workers.set(processId, worker);
    },
    noteEnd: (processId) => void workers.delete(processId),
    noteRow: (before, after) => {
      if (isWaiting(before)) return;
      if (isWaiting(after)) waiting.set(after.key, world.now());
    },
    checkClaim: (before, nodeId) => {
      const { key, workspace_node: home } = before;
      const since = waiting.get(key);
      if (home === null || home === nodeId || since === undefined) return;
      const isEarly = world.now() < since + boundOf(before);
      if (isEarly && wasAlive(home, since))
        throw new Violation(
          'home-machine',
          `${nodeId} claimed ${key} ${world.now() - since} ms after it began to wait for ${home}, which is alive`,
        );
    },
    checkWaiting: (rows, isFree, userRunsMax) => {
      const now = world.now();
      for (const row of rows) {
        const runs = rows.filter(({ user_id, run_id }) => user_id === row.user_id && run_id !== null).length;
        const isOver = now > (waiting.get(row.key) ?? now) + boundOf(row);
        const may = isFree && isWaiting(row) && isOver && (userRunsMax === 0 || runs < userRunsMax);
        if (!may) claimable.delete(row.key);
        else if (!claimable.has(row.key)) claimable.set(row.key, now);
        const since = claimable.get(row.key);
        if (since !== undefined && now - since > noticeMs)
          throw new Violation(
            'deadline',
            `nobody claims ${JSON.stringify(row)}, although there is a free slot`,
          );
      }
    },
  };
}
