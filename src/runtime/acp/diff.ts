// What an edit changed, as people read it.
import { diffLines, hunksText } from '../../lineDiff.ts';

/** The service does nothing else meanwhile. */
const editsMax = 200;

interface Change {
  readonly path: string;
  /** Null where there was no such file. */
  readonly oldText: string | null;
  readonly newText: string;
}

/** Agents tell whole files or only the lines around; the last line break means nothing. */
function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/** Empty where nothing differs but perhaps the last line break. */
export function describeChange({ path, oldText, newText }: Change): string {
  const hunks = diffLines(ended(oldText ?? ''), ended(newText), editsMax);
  if (hunks.length === 0 && oldText !== null) return '';
  return `--- ${oldText === null ? '/dev/null' : path}\n+++ ${path}\n${hunksText(hunks)}`.replace(/\n$/, '');
}
