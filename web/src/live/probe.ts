// Checks whether the service can be reached when the browser reports that it is offline. A service on this machine can
// still be reached, and a dead stream may take long to notice.

export interface ProbeOptions {
  /** Throws if the service cannot be reached. */
  readonly check: () => Promise<void>;
  readonly onLost: () => void;
  /** Called only after `onLost`. */
  readonly onFound: () => void;
  readonly everyMs: number;
}

/** Checks again and again until it is stopped: the network may fail a moment after the browser has reported it. */
export function createProbe({ check, onLost, onFound, everyMs }: ProbeOptions) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** The results of older checks are ignored. */
  let latest = 0;

  async function run(wasLost: boolean): Promise<void> {
    const number = ++latest;
    const found = await check().then(
      () => true,
      () => false,
    );
    if (number !== latest) return;
    if (!found) onLost();
    else if (wasLost) onFound();
    timer = setTimeout(() => void run(!found), everyMs);
  }

  function stop(): void {
    latest++;
    clearTimeout(timer);
  }

  return {
    start: () => {
      stop();
      void run(false);
    },
    stop,
  };
}
