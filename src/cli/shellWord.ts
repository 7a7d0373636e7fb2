// A value of others in a command that people copy: no shell may find more in it than one word.
import { plainLine } from './plainText.ts';

/** As it is where no character means anything to a shell, else in single quotes. */
export function shellWord(value: string): string {
  const word = plainLine(value);
  return /^[\w@.:,+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
