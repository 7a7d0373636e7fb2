// Prompts for the person at the terminal, on standard error.
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { RefusalError } from '../../errors.ts';

/** Whether a person can answer. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Discards the echo of what is typed. */
const nowhere = () => new Writable({ write: (_piece, _encoding, done) => done() });

/** Reads one line. Throws if the input ends without one. */
export function ask(question: string, { hidden = false } = {}): Promise<string> {
  const output = hidden ? nowhere() : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  // Only now: from here on the terminal itself does not echo what is typed.
  process.stderr.write(question);
  // readline redraws the line while the user types.
  if (!hidden) lines.setPrompt(question);
  return new Promise((resolve, reject) => {
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    lines.once('close', () => {
      if (hidden) process.stderr.write('\n');
      reject(new RefusalError('There was no input, so nothing was done.'));
    });
  });
}
