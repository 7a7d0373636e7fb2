// Checks JSON before it is parsed: too many values or levels would take seconds to parse and validate. It needs one
// pass and no memory.

const depthMax = 1_000;
/** Smaller texts, which are most, cannot contain enough to matter. */
const smallBytes = 32 * 1_024;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openings = new Set([0x5b, 0x7b]);
const closings = new Set([0x5d, 0x7d]);

/** The index of the quote that ends the string which starts at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(quote, start + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
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
    else if (openings.has(byte)) depth += 1;
    else if (closings.has(byte)) depth -= 1;
    if (values > valuesMax) return `must hold at most ${valuesMax} values in all`;
    if (depth > depthMax) return `must be nested at most ${depthMax} levels deep`;
  }
  return undefined;
}
