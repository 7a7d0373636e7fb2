// Converts the unified diffs of the log to the diffs of ACP, which have the old and the new text.
import type { ToolCallContent } from '@agentclientprotocol/sdk';

/** A diff with more parts is shown as text. */
const hunksMax = 50;

interface Hunk {
  readonly oldLines: string[];
  readonly newLines: string[];
}

const hunkHead = /^@@ /;

/** Returns the changed parts of the file, with the lines around them. */
function hunksOf(diff: string): Hunk[] {
  const hunks: Hunk[] = [];
  for (const line of diff.split('\n')) {
    if (hunkHead.test(line)) {
      hunks.push({ oldLines: [], newLines: [] });
      continue;
    }
    const hunk = hunks.at(-1);
    if (hunk === undefined) continue;
    const text = line.slice(1);
    if (line.startsWith('-') || line.startsWith(' ')) hunk.oldLines.push(text);
    if (line.startsWith('+') || line.startsWith(' ')) hunk.newLines.push(text);
  }
  return hunks;
}

const asText = (text: string): ToolCallContent => ({ type: 'content', content: { type: 'text', text } });

/** One block for each changed part, because the log does not have the rest of the file. */
export function diffBlocks(path: string, diff: string): ToolCallContent[] {
  if (diff === '') return [];
  const hunks = hunksOf(diff);
  if (hunks.length === 0 || hunks.length > hunksMax) return [asText(diff)];
  return hunks.map(({ oldLines, newLines }) => ({
    type: 'diff',
    path,
    oldText: oldLines.length === 0 ? null : oldLines.join('\n'),
    newText: newLines.join('\n'),
  }));
}
