// Asks whether the service can be reached when the browser says that it is offline: it may still reach this machine,
// and a stream that is dead may take long to notice.

export interface ProbeOptions {
  /** Throws where the service cannot be reached. */
  readonly ask: () => Promise<void>;
  readonly onLost: () => void;
  /** After it was lost. */
  readonly onFound: () => void;
  readonly everyMs: number;
}

/** Asked once; while the answer is that it is lost, asked again and again. */
export function createProbe({ ask, onLost, onFound, everyMs }: ProbeOptions) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Answers to older questions count for nothing. */
  let question = 0;

  async function look(wasLost: boolean): Promise<void> {
    const asked = ++question;
    const found = await ask().then(
      () => true,
      () => false,
    );
    if (asked !== question) return;
    if (found) return wasLost ? onFound() : undefined;
    onLost();
    timer = setTimeout(() => void look(true), everyMs);
  }

  function end(): void {
    question++;
    clearTimeout(timer);
  }

  return {
    start: () => {
      end();
      void look(false);
    },
    end,
  };
}
