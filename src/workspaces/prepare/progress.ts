// What git says of its progress, made into short texts that come neither too often nor too seldom.

const everyMs = 1_000;
/** A start without news for two minutes is held to be stuck, so that a long quiet step says that it goes on. */
const quietMs = 20_000;
const lineCharsMax = 1_000;

const phases = /^(?:remote: )?(Counting objects|Receiving objects|Resolving deltas|Updating files): +(\d+)%/;

export type ReportProgress = (text: string) => void;

/** Tells at once of a new step, of the same step once a second at most, and repeats itself where nothing is said. */
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

/** Takes the error output of git in pieces. Only words that are known are told on. */
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
