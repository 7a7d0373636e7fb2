// Shows the model a file: a limited number of numbered lines, the entries of a folder, or an image.

import type { Stats } from 'node:fs';
import { type FileHandle, opendir } from 'node:fs/promises';
import Type, { type Static } from 'typebox';
import { failing, ToolFailure } from './failure.ts';
import {
  fileFailure,
  findStats,
  isBinary,
  kindOf,
  pathCharsMax,
  readStart,
  sniffBytes,
  withFile,
} from './fileText.ts';
import { imageBytesMax, imageType } from './images.ts';
import { firstChars } from './output.ts';
import { resolveForRequest, resolvePath } from './resolvedPath.ts';
import { defineTool, type Tool, type ToolResult, type ToolUse } from './tool.ts';

const linesUsual = 1_000;
const linesMax = 5_000;
const lineCharsMax = 2_000;
const shownCharsMax = 50_000;
/** How much of a file is read to find a line. */
const scannedBytesMax = 100_000_000;
const pieceBytes = 64_000;
const entriesMax = 500;
/** The limit of entries that are read before they are sorted and cut. */
const entriesReadMax = 20_000;

const ReadInput = Type.Object({
  path: Type.String({ minLength: 1, maxLength: pathCharsMax, description: 'Of a file or folder.' }),
  offset: Type.Optional(
    Type.Integer({ minimum: 1, description: 'The first line that you want. Default 1.' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: linesMax, description: `How many lines. Default ${linesUsual}.` }),
  ),
});
type ReadInput = Static<typeof ReadInput>;

const description = `Reads a file: its lines with their numbers, a tab between. Long files are given in parts (at most \
${shownCharsMax} characters at once): go on with offset. Shows images (png, jpeg, gif, webp), and lists a folder.`;

async function listFolder(path: string, shown: string): Promise<ToolResult> {
  const names: string[] = [];
  let more = false;
  try {
    for await (const entry of await opendir(path)) {
      if (names.length === entriesReadMax) {
        more = true;
        break;
      }
      names.push(`${entry.name}${entry.isDirectory() ? '/' : entry.isSymbolicLink() ? '@' : ''}`);
    }
  } catch (error) {
    throw fileFailure(`Listing ${shown}`, error);
  }
  const listed = names.toSorted().slice(0, entriesMax);
  const left = names.length - listed.length;
  const end =
    left > 0 || more ? [`[… ${left}${more ? ' or more' : ''} entries left out: use find_files]`] : [];
  return {
    text: [`${shown} is a folder:`, ...(names.length === 0 ? ['(empty)'] : listed), ...end].join('\n'),
  };
}

interface Lines {
  readonly shown: string[];
  /** The number of all lines that were read. */
  count: number;
  chars: number;
  hasCr: boolean;
  isBroken: boolean;
  /** Whether there are more lines. */
  full: boolean;
}

/** Adds one line without its line end. Only its first bytes are decoded. */
function take(lines: Lines, bytes: Buffer, cut: boolean, first: number, limit: number): void {
  lines.count += 1;
  if (lines.count < first) return;
  let text = bytes.toString('utf8');
  if (lines.count === 1) text = text.replace(/^\uFEFF/, '');
  if (text.endsWith('\r')) {
    lines.hasCr = true;
    text = text.slice(0, -1);
  }
  const kept = firstChars(text, lineCharsMax);
  const line = `${lines.count}\t${kept}${cut || kept.length < text.length ? ' … (line cut)' : ''}`;
  if (lines.shown.length === limit || lines.chars + line.length > shownCharsMax) {
    lines.full = true;
    return;
  }
  if (!cut && text.includes('\uFFFD')) lines.isBroken = true;
  lines.chars += line.length + 1;
  lines.shown.push(line);
}

/** A character has at most four bytes. */
const lineBytesMax = 4 * lineCharsMax + 4;

/** Reads until it has the requested lines and knows whether there are more. */
async function readLines(file: FileHandle, first: number, limit: number): Promise<Lines> {
  const lines: Lines = { shown: [], count: 0, chars: 0, hasCr: false, isBroken: false, full: false };
  const piece = Buffer.alloc(pieceBytes);
  let line = Buffer.alloc(0);
  let lineBytes = 0;
  const extend = (part: Buffer) => {
    lineBytes += part.length;
    const isWanted = lines.count + 1 >= first && line.length < lineBytesMax;
    if (isWanted) line = Buffer.concat([line, part.subarray(0, lineBytesMax - line.length)]);
  };
  for (let at = 0; ; ) {
    if (at > scannedBytesMax)
      throw new ToolFailure(
        `Line ${first} is too far into the file for this tool. Use bash: sed -n '${first},+99p'.`,
      );
    const { bytesRead } = await file.read(piece, 0, pieceBytes, at);
    at += bytesRead;
    const bytes = piece.subarray(0, bytesRead);
    for (let from = 0; from < bytesRead; ) {
      const end = bytes.indexOf(10, from);
      extend(bytes.subarray(from, end === -1 ? bytesRead : end));
      if (end === -1) break;
      take(lines, line, lineBytes > line.length, first, limit);
      if (lines.full) return lines;
      line = Buffer.alloc(0);
      lineBytes = 0;
      from = end + 1;
    }
    if (bytesRead > 0) continue;
    if (lineBytes > 0) take(lines, line, lineBytes > line.length, first, limit);
    return lines;
  }
}

function describeLines(lines: Lines, shown: string, first: number): ToolResult {
  const notes: string[] = [];
  if (lines.count === 0) return { text: `${shown} is empty.` };
  if (lines.shown.length === 0)
    return { text: `${shown} has only ${lines.count} lines: give a smaller offset.`, failed: true };
  if (lines.full) notes.push(`there is more: go on with offset ${first + lines.shown.length}`);
  if (lines.hasCr) notes.push('its lines end with CRLF, not shown here; edit_file keeps that');
  if (lines.isBroken) notes.push('it is not in UTF-8; what could not be read is shown as \uFFFD');
  return { text: [...lines.shown, ...notes.map((note) => `[${note}]`)].join('\n') };
}

async function readImage(
  file: FileHandle,
  shown: string,
  mimeType: string,
  size: number,
): Promise<ToolResult> {
  if (size > imageBytesMax)
    throw new ToolFailure(
      `${shown} is an image of ${size} bytes, more than the ${imageBytesMax} that can be shown. Make a smaller copy with bash.`,
    );
  const data = (await readStart(file, size)).toString('base64');
  return { text: `${shown}: ${mimeType}, ${size} bytes.`, image: { mimeType, data } };
}

function readAs(path: string, shown: string, stats: Stats, input: ReadInput): Promise<ToolResult> {
  const { offset = 1, limit = linesUsual } = input;
  return withFile(path, `Reading ${shown}`, async (file) => {
    const start = await readStart(file, sniffBytes);
    const mimeType = imageType(start);
    if (mimeType !== undefined) return readImage(file, shown, mimeType, stats.size);
    if (isBinary(start))
      throw new ToolFailure(
        `${shown} is a binary file of ${stats.size} bytes. Use bash (file, strings, xxd).`,
      );
    return describeLines(await readLines(file, offset, limit), shown, offset);
  });
}

async function read(input: ReadInput, use: ToolUse): Promise<ToolResult> {
  const { path, shown } = await resolvePath(input.path, use);
  const stats = await findStats(path, `Reading ${shown}`);
  if (stats === undefined) throw new ToolFailure(`There is no ${shown}. Look for it with find_files.`);
  if (stats.isDirectory()) return listFolder(path, shown);
  if (!stats.isFile()) throw new ToolFailure(`${shown} is a ${kindOf(stats)}, which is not read.`);
  return readAs(path, shown, stats, input);
}

export function createReadTool(): Tool {
  return defineTool({
    name: 'read_file',
    description,
    input: ReadInput,
    kind: 'read',
    isParallel: true,
    title: (input, path = input.path) => `Read ${path}`,
    path: ({ path }) => path,
    resolve: ({ path }, use) => resolveForRequest(path, use),
    run: (input, use) => failing(() => read(input, use)),
  });
}
