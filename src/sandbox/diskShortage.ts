// When the disk is nearly full, the runs of a process are stopped one at a time, the one that has grown most first: a
// run that fills the disk must not be able to end those of others.

export interface DiskShortage {
  /** Takes part from now on; what is returned ends that. */
  join(): ShortageMember;
}

interface ShortageMember {
  /** Called at each look that finds too little room, with what the run has grown by. True: it is to be stopped now. */
  isNext(grownBy: number): boolean;
  /** Called at each look that finds enough room. */
  clear(): void;
  leave(): void;
}

interface ShortageTimes {
  /** How long the others may take to tell what they have grown by. */
  readonly waitMs: number;
  /** From one stop to the next: the files of a run are freed once its processes have ended. */
  readonly settleMs: number;
}

const usualTimes: ShortageTimes = { waitMs: 10_000, settleMs: 10_000 };

export function createDiskShortage(times: Partial<ShortageTimes> = {}): DiskShortage {
  const { waitMs, settleMs } = { ...usualTimes, ...times };
  const members = new Set<object>();
  const grown = new Map<object, number>();
  let beganAt: number | undefined;
  let stoppedAt = Number.NEGATIVE_INFINITY;

  function forget(member: object): void {
    grown.delete(member);
    if (grown.size === 0) beganAt = undefined;
  }

  return {
    join: () => {
      const member = {};
      members.add(member);
      return {
        isNext: (grownBy) => {
          const now = performance.now();
          grown.set(member, grownBy);
          beganAt ??= now;
          if (now - stoppedAt < settleMs) return false;
          if (grown.size < members.size && now - beganAt < waitMs) return false;
          if ([...grown.values()].some((other) => other > grownBy)) return false;
          stoppedAt = now;
          members.delete(member);
          forget(member);
          return true;
        },
        clear: () => forget(member),
        leave: () => {
          members.delete(member);
          forget(member);
        },
      };
    },
  };
}
