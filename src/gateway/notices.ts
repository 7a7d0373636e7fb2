// Reports model problems to the user, each message once per turn, and only a limited number: any program in the sandbox
// can cause errors as fast as it likes.

const noticesPerTurnMax = 20;
const leftOut = 'Further notices about the model are not shown until your next message.';

export type Notify = (sentence: string, isFault: boolean) => void;

export interface Notices {
  /** Starts a turn: earlier notices may be repeated. */
  beginTurn(): void;
  report: Notify;
  /** Reports something once per run, because it does not change with the next turn. */
  reportOnce(sentence: string): void;
}

/** `known` are sentences that `reportOnce` need not report again. */
export function createNotices(notify: Notify, known: readonly string[] = []): Notices {
  const reportedOnce = new Set(known);
  const reported = new Set<string>();

  function report(sentence: string, isFault: boolean): void {
    if (reported.has(sentence) || reported.size > noticesPerTurnMax) return;
    const isRoom = reported.size < noticesPerTurnMax;
    reported.add(sentence);
    notify(isRoom ? sentence : leftOut, isRoom && isFault);
  }

  return {
    beginTurn: () => reported.clear(),
    report,
    reportOnce: (sentence) => {
      if (reportedOnce.has(sentence)) return;
      reportedOnce.add(sentence);
      notify(sentence, false);
    },
  };
}
