// Describes the file changes of an edit as a diff for people.
import { diffLines, hunksText } from '../../text/lineDiff.ts';
import { kib } from '../../validation/schema.ts';
import { cutText } from './bounds.ts';

/** Bounds the work of one comparison, because it blocks the event loop. */
const editsMax = 200;
/** How many lines are compared in one message. Further files are shown as whole old and new texts. */
const comparedLinesMax = 50_000;
/**
 * How much is shown of a file that is not compared. It equals the limit of the whole diff, so that a cut is noticed.
 */
const shownBytesMax = 64 * kib;
/** Each file counts at least this much. */
const fileLines = 50;

export interface Change {
  readonly path: string;
  /** Null if the file did not exist. */
  readonly oldText: string | null;
  readonly newText: string;
}

/** Agents send whole files or only some lines, so a missing last line break means nothing. */
function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** Cuts the text before adding a sign to each line, because there may be millions of lines. */
function signed(sign: string, text: string): string {
  const lines = ended(cutText(text, shownBytesMax)).slice(0, -1);
  return text === '' ? '' : `${sign}${lines.replaceAll('\n', `\n${sign}`)}\n`;
}

function uncompared({ path, oldText, newText }: Change): string {
  const lines = `${signed('-', oldText ?? '')}${signed('+', newText)}`;
  return `--- ${oldText === null ? '/dev/null' : path}\n+++ ${path}\n${lines}`.replace(/\n$/, '');
}

/** Stops counting at `max`. */
function countLines(text: string, max: number): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0 && count <= max; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

/** Returns empty text if nothing differs except the last line break. */
function describeChange({ path, oldText, newText }: Change): string {
  const hunks = diffLines(ended(oldText ?? ''), ended(newText), editsMax);
  if (hunks.length === 0 && oldText !== null) return '';
  return `--- ${oldText === null ? '/dev/null' : path}\n+++ ${path}\n${hunksText(hunks)}`.replace(/\n$/, '');
}

/** Describes every file that differs. Only a limited number of lines is compared, because that is slow. */
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
