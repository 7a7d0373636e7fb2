// What an edit changed, as people read it.
import { diffLines, hunksText } from '../../text/lineDiff.ts';
import { kib } from '../../validation/schema.ts';
import { cutText } from './bounds.ts';

/** The service does nothing else meanwhile. */
const editsMax = 200;
/** Of all files in one message, which are compared. The others are shown as they were and as they are. */
const comparedLinesMax = 50_000;
/** Of a file that is not compared: no less than is shown of all, so that nobody takes it for whole. */
const shownBytesMax = 64 * kib;
/** What each file counts at least. */
const fileLines = 50;

export interface Change {
  readonly path: string;
  /** Null where there was no such file. */
  readonly oldText: string | null;
  readonly newText: string;
}

/** Agents tell whole files or only the lines around; the last line break means nothing. */
function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** Cut before it gets its signs: they are put at the start of each line, and there may be millions. */
function signed(sign: string, text: string): string {
  const lines = ended(cutText(text, shownBytesMax)).slice(0, -1);
  return text === '' ? '' : `${sign}${lines.replaceAll('\n', `\n${sign}`)}\n`;
}

function uncompared({ path, oldText, newText }: Change): string {
  const lines = `${signed('-', oldText ?? '')}${signed('+', newText)}`;
  return `--- ${oldText === null ? '/dev/null' : path}\n+++ ${path}\n${lines}`.replace(/\n$/, '');
}

/** As far as that number. */
function countLines(text: string, max: number): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0 && count <= max; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** Empty where nothing differs but perhaps the last line break. */
function describeChange({ path, oldText, newText }: Change): string {
  const hunks = diffLines(ended(oldText ?? ''), ended(newText), editsMax);
  if (hunks.length === 0 && oldText !== null) return '';
  return `--- ${oldText === null ? '/dev/null' : path}\n+++ ${path}\n${hunksText(hunks)}`.replace(/\n$/, '');
}

/** One text for each file that differs. Comparing takes far longer than reading, so that there is a bound on it. */
export function describeChanges(changes: readonly Change[]): string {
  let room = comparedLinesMax;
  return changes
    .map((change) => {
      const { oldText, newText } = change;
      room -= fileLines + countLines(oldText ?? '', room) + countLines(newText, room);
      return room < 0 ? uncompared(change) : describeChange(change);
    })
    .filter((text) => text !== '')
    .join('\n');
}
