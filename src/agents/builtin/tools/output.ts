// Converts the output of a command for the model: plain text without terminal sequences, and only the head and the tail
// of long output.

export interface Output {
  /** Adds the next piece of decoded output. */
  push(text: string): void;
  /** Grows with everything that is pushed. */
  readonly pushedChars: number;
  /** Returns the output since the last `take`. */
  text(): string;
  /** Returns the same and removes it. */
  take(): string;
}

export const headCharsMax = 8_000;
export const tailCharsMax = 16_000;
/** A longer line is not held back until it may be overwritten. */
const lineCharsMax = 10_000;
/** An escape sequence that does not end within this length is treated as text. */
const escapeCharsMax = 2_000;
/** Output with a larger share of unprintable characters counts as binary. */
const oddShareMax = 0.1;
/** This many unprintable characters are always allowed. */
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

/** Returns where an unfinished escape sequence starts; the end of the text if there is none. */
function openEscapeAt(text: string): number {
  const from = Math.max(0, text.length - escapeCharsMax);
  const at = text.slice(from).search(openEscape);
  return at === -1 ? text.length : from + at;
}

/** Returns what a terminal shows of a line that was overwritten. */
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

/** Returns the first characters, without splitting a surrogate pair. */
export function firstChars(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return text.slice(0, isSecondHalf(text, charsMax) ? charsMax - 1 : charsMax);
}

/** Returns the last characters, without splitting a surrogate pair. */
function lastChars(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const at = text.length - charsMax;
  return text.slice(isSecondHalf(text, at) ? at + 1 : at);
}

/** Keeps as much of the output as the limits allow. */
export function createOutput(): Output {
  let pushedChars = 0;
  /** An unfinished escape sequence. */
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
