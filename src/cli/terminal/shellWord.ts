// Quotes untrusted values in commands that are printed for copying, so that a shell reads each as a single word.
import { plainLine } from './plainText.ts';

/** Returns the value unchanged if it has no special characters, otherwise in single quotes. */
export function shellWord(value: string): string {
  const word = plainLine(value);
  return /^[\w@.:,+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
