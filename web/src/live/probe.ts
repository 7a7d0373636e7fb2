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

/** Checks once, and while the service is lost, again and again. */
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
    if (found) return wasLost ? onFound() : undefined;
    onLost();
    timer = setTimeout(() => void run(true), everyMs);
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
