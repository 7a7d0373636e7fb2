// Checks JSON before it is parsed: too many values or levels would take seconds to parse and validate. It needs one
// pass and no memory.

const depthMax = 1_000;
/** Smaller texts, which are most, cannot contain enough to matter. */
const smallBytes = 32 * 1_024;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openings = [0x5b, 0x7b] as const;
const closings = [0x5d, 0x7d] as const;

/** Up to this distance, a loop finds a quote sooner than a call of `indexOf`, which code with its many quotes needs. */
const nearBytes = 48;

function isEscaped(bytes: Buffer, at: number): boolean {
  let slashes = 0;
  while (bytes[at - 1 - slashes] === backslash) slashes += 1;
  return slashes % 2 === 1;
}

/** The index of the quote that ends the string which starts at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length) {
    for (const near = at + nearBytes; at < near; at++) {
      const byte = bytes[at];
      if (byte === quote) return at;
      if (byte === backslash) at += 1;
    }
    const next = bytes.indexOf(quote, at);
    if (next < 0) break;
    if (!isEscaped(bytes, next)) return next;
    at = next + 1;
  }
  return bytes.length;
}

/** Why the text must not be parsed; undefined if it may. Invalid JSON is left to the parser. */
export function findTooManyValues(bytes: Buffer, valuesMax: number): string | undefined {
  if (bytes.length <= smallBytes) return undefined;
  let depth = 0;
  let values = 1;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === quote) at = endOfString(bytes, at);
    else if (byte === comma) values += 1;
    else if (byte === openings[0] || byte === openings[1]) depth += 1;
    else if (byte === closings[0] || byte === closings[1]) depth -= 1;
    if (values > valuesMax) return `must hold at most ${valuesMax} values in all`;
    if (depth > depthMax) return `must be nested at most ${depthMax} levels deep`;
  }
  return undefined;
}
