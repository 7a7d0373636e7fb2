// Turns the progress output of git into short texts, neither too often nor too rarely.

const everyMs = 1_000;
/** A start without progress for two minutes counts as stuck, so a long silent step is reported again. */
const quietMs = 20_000;
const lineCharsMax = 1_000;

const phases = /^(?:remote: )?(Counting objects|Receiving objects|Resolving deltas|Updating files): +(\d+)%/;

export type ReportProgress = (text: string) => void;

/** Reports a new step at once, the same step at most once a second, and repeats itself if there is no news. */
export function createProgress(tell: ReportProgress, now: () => number = () => performance.now()) {
  let last = '';
  let step = '';
  let toldAt = Number.NEGATIVE_INFINITY;
  function say(text: string): void {
    last = text;
    toldAt = now();
    tell(text);
  }
  const quiet = setInterval(() => last !== '' && say(last), quietMs);
  quiet.unref();
  return {
    report: (name: string, detail = ''): void => {
      const text = `${name}${detail}`;
      if (text === last || (name === step && now() - toldAt < everyMs)) return;
      step = name;
      say(text);
    },
    end: () => clearInterval(quiet),
  };
}

/** Reads the error output of git in pieces. Only known phrases are reported. */
export function createGitProgressReader(report: (name: string, detail: string) => void) {
  let rest = '';
  return (piece: string): void => {
    const lines = (rest + piece).split(/[\r\n]/);
    rest = (lines.pop() ?? '').slice(0, lineCharsMax);
    for (const line of lines) {
      const [, name, percent] = phases.exec(line) ?? [];
      if (name !== undefined) report(name, ` ${percent} %`);
    }
  };
}
