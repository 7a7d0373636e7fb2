// Runs the tar of the system, which copes with names of any bytes, links and modes.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { byteText } from './sections.ts';

const errorBytesMax = 65_536;
const fatal = /not recoverable|no space left/i;
export const diskFull = /no space left|disk quota exceeded|file too large/i;

/** Settles with the exit code and the beginning of the error output. Never rejects. */
export function endOf(child: ChildProcess): Promise<{ readonly code: number; readonly errors: string }> {
  let errors = '';
  child.stderr?.on('data', (piece: Buffer) => {
    if (errors.length < errorBytesMax) errors += piece.toString();
  });
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 127, errors: error.message }));
    child.once('close', (code) => resolve({ code: code ?? 128, errors }));
  });
}

function* listText(names: Iterable<string>): Generator<Buffer> {
  for (const name of names) yield Buffer.from(`./${name}\0`, byteText);
}

/** Feeds names as fast as tar reads them. */
async function feed(child: ChildProcess, names: Iterable<string>): Promise<void> {
  const { stdin } = child;
  if (stdin === null) return;
  stdin.on('error', () => {
    // Tar has ended, which is reported by its exit.
  });
  for (const line of listText(names))
    if (!stdin.write(line) && !child.killed)
      await new Promise<void>((resolve) => {
        stdin.once('drain', resolve);
        stdin.once('close', resolve);
      });
  stdin.end();
}

/** An archive of exactly these files. A file that disappears meanwhile is left out; others may be cut off or padded. */
export async function* archive(root: string, names: Iterable<string>): AsyncGenerator<Buffer> {
  const child = spawn(
    'tar',
    [
      ...['--create', '--file=-', '--format=gnu', `--directory=${root}`],
      ...['--numeric-owner', '--owner=0', '--group=0', '--ignore-failed-read', '--no-recursion'],
      ...['--null', '--files-from=-'],
    ],
    { env: { PATH: process.env['PATH'], LC_ALL: 'C' }, stdio: ['pipe', 'pipe', 'pipe'] },
  );
  const end = endOf(child);
  const fed = feed(child, names);
  yield* child.stdout as Readable as AsyncIterable<Buffer>;
  const { code, errors } = await end;
  await fed;
  // 1 and 2: some files changed or disappeared while they were read.
  if (code > 2 || fatal.test(errors)) throw new Error(`tar ended with ${code}`);
}

/** Starts to extract an archive into a folder. */
export function extract(root: string): ChildProcess {
  return spawn(
    'tar',
    ['--extract', '--file=-', '--preserve-permissions', '--no-same-owner', `--directory=${root}`],
    {
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
      stdio: ['pipe', 'ignore', 'pipe'],
    },
  );
}
