// Questions to the person at the terminal, beside the output.
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { RefusalError } from '../../errors.ts';

/** Whether somebody is there to be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Where what is typed must not be seen. */
const nowhere = () => new Writable({ write: (_piece, _encoding, done) => done() });

/** One line. Throws where the person leaves without one. */
export function ask(question: string, { hidden = false } = {}): Promise<string> {
  const output = hidden ? nowhere() : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  // Not before: from here on the terminal itself shows nothing of what is typed.
  process.stderr.write(question);
  // It writes the line anew as one types.
  if (!hidden) lines.setPrompt(question);
  return new Promise((resolve, reject) => {
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    lines.once('close', () => {
      if (hidden) process.stderr.write('\n');
      reject(new RefusalError('Nothing was said, and nothing is done.'));
    });
  });
}
