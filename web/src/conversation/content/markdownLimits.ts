// Finds text whose Markdown would take too long to parse; it is shown as plain text instead.

const charsMax = 30_000;
const linesMax = 1_000;
/** Nested quotes and lists in one line. */
const depthMax = 10;
const indentMax = 100;
const runMax = 100;
/** Limits for a whole text. */
const countsMax: readonly { readonly mark: RegExp; readonly max: number }[] = [
  { mark: /[[\]]/g, max: 800 },
  { mark: /<[!?]/g, max: 200 },
  { mark: /`/g, max: 3_000 },
  { mark: /^(?:[ \t]*(?:>|[-+*][ \t]|\d+[.)][ \t])){4}/gm, max: 50 },
  { mark: /^[ \t]*>/gm, max: 400 },
  { mark: /^[ \t]*(?:=+|-+)[ \t]*$/gm, max: 200 },
];
/** Limits for a paragraph, in which the parser looks for the end of each mark. */
const emphasesMax = 500;
const cellsMax = 2_000;

const run = new RegExp(String.raw`([*_~\x60[\]<>!\\])\1{${runMax},}`);
const indent = new RegExp(`^[ \\t]{${indentMax},}`, 'm');
const nested = new RegExp(`^(?:[ \\t]*(?:>|(?:[-+*]|\\d{1,9}[.)])[ \\t])){${depthMax},}`, 'm');

function countOf(text: string, mark: RegExp): number {
  return text.match(mark)?.length ?? 0;
}

/** The parser fills every row up to the widest one. */
function cellsOf(lines: readonly string[]): number {
  return lines.length * Math.max(...lines.map((line) => countOf(line, /\|/g)));
}

function exceedsBlockLimits(block: string): boolean {
  return countOf(block, /[*_~]/g) > emphasesMax || cellsOf(block.split('\n')) > cellsMax;
}

/** Takes linear time for any text. */
export function exceedsMarkdownLimits(text: string): boolean {
  if (text.length > charsMax || countOf(text, /[\r\n]/g) > linesMax) return true;
  if ([run, indent, nested].some((pattern) => pattern.test(text))) return true;
  if (countsMax.some(({ mark, max }) => countOf(text, mark) > max)) return true;
  return text.split(/\n[ \t]*\n/).some(exceedsBlockLimits);
}
