// Applies an edit to a text: finds the matches, and keeps the line ends.
import { ToolFailure } from './failure.ts';

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

export interface Edited {
  readonly text: string;
  /** The lines of the replaced matches, counted from 1. */
  readonly lines: readonly number[];
}

const linesShownMax = 10;
const matchesMax = 10_000;

const withLf = (text: string) => text.replaceAll('\r\n', '\n');
const withCrlf = (text: string) => withLf(text).replaceAll('\n', '\r\n');

/**
 * Ways to interpret the text of the model, which does not see line ends. A file with one kind of line ends keeps it; in
 * a mixed file, an exact match comes first.
 */
function readings(text: string): ((part: string) => string)[] {
  const ends = text.split('\n').length - 1;
  const crlfs = text.split('\r\n').length - 1;
  if (crlfs === 0) return [(part) => part, withLf];
  return ends === crlfs ? [withCrlf] : [(part) => part, withCrlf, withLf];
}

function matchesOf(text: string, part: string): number[] {
  const matches: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) {
    matches.push(at);
    if (matches.length > matchesMax)
      throw new ToolFailure(`old_text is found more than ${matchesMax} times. Use bash (sed) for that.`);
  }
  return matches;
}

function linesAt(text: string, matches: readonly number[]): number[] {
  let line = 1;
  let from = 0;
  return matches.map((match) => {
    for (let at = text.indexOf('\n', from); at !== -1 && at < match; at = text.indexOf('\n', at + 1)) {
      line += 1;
      from = at + 1;
    }
    return line;
  });
}

export function listLines(lines: readonly number[]): string {
  const distinct = [...new Set(lines)];
  const shown = distinct.slice(0, linesShownMax).join(', ');
  const more = distinct.length > linesShownMax ? ', …' : '';
  return `${distinct.length === 1 ? 'line' : 'lines'} ${shown}${more}`;
}

/** Suggests where the text might be that the model means. */
function hint(text: string, { oldText, newText }: Edit): string {
  if (newText.trim() !== '' && withLf(text).includes(withLf(newText)))
    return 'new_text is there already: perhaps this was done before.';
  const wanted = oldText.split('\n').find((line) => line.trim() !== '');
  const trimmed = wanted?.trim();
  const at = trimmed === undefined ? -1 : text.split('\n').findIndex((line) => line.trim() === trimmed);
  if (at === -1) return 'Read the file again, and copy the text without the line numbers.';
  return `Its line "${trimmed?.slice(0, 80)}" is there at line ${at + 1}, but white space or the lines around it differ. Read the file there and copy it exactly.`;
}

/** Throws a `ToolFailure` if the edit is ambiguous. `shown` names the file. */
export function applyEdit(text: string, edit: Edit, shown: string): Edited {
  if (edit.oldText === '')
    throw new ToolFailure('old_text is empty. To make a file, or to write all of it, use write_file.');
  if (edit.oldText === edit.newText)
    throw new ToolFailure('old_text and new_text are the same: there is nothing to change.');
  const found = readings(text)
    .map((reading) => ({ reading, matches: matchesOf(text, reading(edit.oldText)) }))
    .find(({ matches }) => matches.length > 0);
  if (found === undefined) throw new ToolFailure(`old_text is not found in ${shown}. ${hint(text, edit)}`);
  const { reading, matches } = found;
  const lines = linesAt(text, matches);
  if (matches.length > 1 && !edit.replaceAll)
    throw new ToolFailure(
      `old_text is found ${matches.length} times in ${shown} (${listLines(lines)}). Take in more of the text around the one that you mean, or set replace_all.`,
    );
  return { text: text.split(reading(edit.oldText)).join(reading(edit.newText)), lines };
}
