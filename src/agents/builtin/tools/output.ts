// The output of a command as a model can read it: plain text without what only a terminal understands, its head and
// its tail where it is long.

export interface Output {
  /** What comes next, decoded. */
  push(text: string): void;
  /** Grows with everything that is pushed. */
  readonly pushedChars: number;
  /** What is new since the last `take`. */
  text(): string;
  /** The same, and forgets it. */
  take(): string;
}

export const headCharsMax = 8_000;
export const tailCharsMax = 16_000;
/** A longer line no longer waits for what overwrites it. */
const lineCharsMax = 10_000;
/** Text that opens an escape and does not close it within this is no escape. */
const escapeCharsMax = 2_000;
/** Where more of the characters than this are no text, nobody wants to read the rest. */
const oddShareMax = 0.1;
/** So few of them harm nobody. */
const oddCharsMin = 40;

const esc = String.fromCharCode(0x1b);
const bell = String.fromCharCode(0x07);
const title = `${esc}[\\]PX^_][^${esc}${bell}\n]*`;
const control = `${esc}\\[[0-?]*[ -/]*`;
const short = `${esc}[ -/]*`;
const escapes = new RegExp(`${title}(?:${bell}|${esc}\\\\)|${control}[@-~]|${short}[0-Z\\\\^-~]`, 'g');
const openEscape = new RegExp(`(?:${title}${esc}?|${control}|${short})$`);
const unprintable = /[\p{Cc}--[\t\n]]/gv;
const replaced = '\uFFFD';

/** Where an escape starts that may go on after the end; the end where there is none. */
function openEscapeAt(text: string): number {
  const from = Math.max(0, text.length - escapeCharsMax);
  const at = text.slice(from).search(openEscape);
  return at === -1 ? text.length : from + at;
}

/** What a terminal shows of a line that was written over. */
function lastState(line: string): string {
  const end = line.endsWith('\r') ? line.replace(/\r+$/, '') : line;
  return end.slice(end.lastIndexOf('\r') + 1);
}

function collapse(lines: string): string {
  return lines.includes('\r') ? lines.split('\n').map(lastState).join('\n') : lines;
}

function isSecondHalf(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}

/** The first characters, none of them halved. */
export function firstChars(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return text.slice(0, isSecondHalf(text, charsMax) ? charsMax - 1 : charsMax);
}

/** The last characters, none of them halved. */
function lastChars(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const at = text.length - charsMax;
  return text.slice(isSecondHalf(text, at) ? at + 1 : at);
}

/** Keeps so much of what it is given as the bounds allow, however much that is. */
export function createOutput(): Output {
  let pushedChars = 0;
  /** An escape that may go on. */
  let open = '';
  /** The last line, which may be overwritten. */
  let line = '';
  let head = '';
  let tail = '';
  let droppedChars = 0;
  let keptChars = 0;
  let oddChars = 0;

  function printable(text: string): string {
    const clean = text.replace(unprintable, '');
    keptChars += text.length;
    oddChars += text.length - clean.length;
    if (clean.includes(replaced)) oddChars += clean.split(replaced).length - 1;
    return clean;
  }

  function keep(text: string): void {
    let rest = printable(text);
    if (tail === '') {
      const first = firstChars(rest, headCharsMax - head.length);
      head += first;
      rest = rest.slice(first.length);
    }
    tail += rest;
    if (tail.length < 2 * tailCharsMax) return;
    const last = lastChars(tail, tailCharsMax);
    droppedChars += tail.length - last.length;
    tail = last;
  }

  function push(text: string): void {
    pushedChars += text.length;
    const all = open + text;
    const stop = openEscapeAt(all);
    open = all.slice(stop);
    const plain = line + all.slice(0, stop).replace(escapes, '');
    const lineAt = plain.lastIndexOf('\n') + 1;
    if (lineAt > 0) keep(collapse(plain.slice(0, lineAt)));
    line = plain.slice(lineAt);
    if (line.includes('\r')) line = `${lastState(line)}${line.endsWith('\r') ? '\r' : ''}`;
    if (line.length <= lineCharsMax) return;
    keep(lastState(line));
    line = '';
  }

  function text(): string {
    if (oddChars > oddCharsMin && oddChars / keptChars > oddShareMax)
      return `[the output is binary (${keptChars} characters) and not shown: write it to a file, or pipe it through xxd or strings]\n`;
    const end = tail + lastState(line).replace(unprintable, '');
    const last = lastChars(end, tailCharsMax);
    const leftOut = droppedChars + end.length - last.length;
    if (leftOut === 0) return head + last;
    return `${head}\n[… ${leftOut} characters left out here: to see them, write the output to a file and read that in parts …]\n${last}`;
  }

  function take(): string {
    keep(lastState(line));
    line = '';
    const taken = text();
    head = '';
    tail = '';
    droppedChars = 0;
    keptChars = 0;
    oddChars = 0;
    return taken;
  }

  return {
    push,
    get pushedChars() {
      return pushedChars;
    },
    text,
    take,
  };
}
