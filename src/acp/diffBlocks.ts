// Converts the unified diffs of the log to the diffs of ACP, which have the old and the new text.
import type { ToolCallContent } from '@agentclientprotocol/sdk';

/** A diff with more parts is shown as text. */
const hunksMax = 50;

interface Hunk {
  readonly oldLines: string[];
  readonly newLines: string[];
}

interface FileDiff {
  /** As the agent named it; undefined if the diff has no file names. */
  readonly path: string | undefined;
  readonly isNew: boolean;
  readonly hunks: Hunk[];
}

const hunkHead = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const noPath = '/dev/null';

/** Reads the lines of a hunk, as many as its head says. Returns the position after it, or undefined if they are not there. */
function readHunk(lines: readonly string[], from: number, hunk: Hunk): number | undefined {
  const [, oldCount = '1', newCount = '1'] = hunkHead.exec(lines[from] ?? '') ?? [];
  let at = from + 1;
  while (hunk.oldLines.length < Number(oldCount) || hunk.newLines.length < Number(newCount)) {
    const line = lines[at++];
    if (line === undefined) return undefined;
    const text = line.slice(1);
    if (line.startsWith('-') || line.startsWith(' ')) hunk.oldLines.push(text);
    if (line.startsWith('+') || line.startsWith(' ')) hunk.newLines.push(text);
    if (!/^[-+ \\]/.test(line)) return undefined;
  }
  return at;
}

/** Returns undefined if something in the diff is not understood: it is shown as text then, so that nothing is left out. */
function parseDiff(diff: string): FileDiff[] | undefined {
  const lines = diff.replace(/\n$/, '').split('\n');
  const files: FileDiff[] = [];
  for (let at = 0; at < lines.length; ) {
    const [line = '', next = ''] = [lines[at], lines[at + 1]];
    if (line.startsWith('--- ') && next.startsWith('+++ ')) {
      const [before, after] = [line.slice(4), next.slice(4)];
      files.push({ path: after === noPath ? before : after, isNew: before === noPath, hunks: [] });
      at += 2;
    } else if (hunkHead.test(line)) {
      if (files.length === 0) files.push({ path: undefined, isNew: false, hunks: [] });
      const hunk: Hunk = { oldLines: [], newLines: [] };
      files.at(-1)?.hunks.push(hunk);
      const end = readHunk(lines, at, hunk);
      if (end === undefined) return undefined;
      at = end;
    } else if (line.startsWith('\\')) at += 1;
    else return undefined;
  }
  return files;
}

const asText = (text: string): ToolCallContent => ({ type: 'content', content: { type: 'text', text } });

/** One block for each changed part, because the log does not have the rest of the file. */
function fileBlocks({ hunks, isNew }: FileDiff, path: string): ToolCallContent[] {
  if (hunks.length === 0) return [{ type: 'diff', path, oldText: isNew ? null : '', newText: '' }];
  return hunks.map(({ oldLines, newLines }) => ({
    type: 'diff',
    path,
    oldText: oldLines.length === 0 ? null : oldLines.join('\n'),
    newText: newLines.join('\n'),
  }));
}

export interface ShownDiff {
  readonly content: ToolCallContent[];
  /** The files that are changed, as far as the diff names them. */
  readonly paths: readonly string[];
}

/** `path` is the file of a diff of one file. */
export function showDiff(path: string, diff: string, toClient: (path: string) => string): ShownDiff {
  if (diff === '') return { content: [], paths: [path] };
  const files = parseDiff(diff);
  const hunks = files?.reduce((sum, file) => sum + file.hunks.length, 0) ?? 0;
  if (files === undefined || hunks > hunksMax || files.length > hunksMax)
    return { content: [asText(diff)], paths: [path] };
  const paths = files.map((file) => (files.length === 1 ? path : toClient(file.path ?? path)));
  return {
    content: files.flatMap((file, i) => fileBlocks(file, paths[i] ?? path)),
    paths: [...new Set(paths)],
  };
}
