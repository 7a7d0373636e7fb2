// Runs git in the fresh clone that a snapshot is restored into. Its strict configuration comes with the environment of
// the program, and the configuration of the snapshot is restored last, so that nothing of it can run.
import { spawn } from 'node:child_process';
import type { RestoreRefusal } from './sections.ts';
import { diskFull, endOf } from './tar.ts';

export class NotRestored extends Error {
  readonly refusal: RestoreRefusal;

  constructor(refusal: RestoreRefusal) {
    super(refusal);
    this.refusal = refusal;
  }
}

const outputBytesMax = 256 * 1_024 * 1_024;

export interface GitOutcome {
  readonly isFine: boolean;
  readonly output: Buffer;
  readonly isFull: boolean;
}

export async function tryGit(root: string, args: readonly string[], input = ''): Promise<GitOutcome> {
  const child = spawn('git', args, { cwd: root, stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = endOf(child);
  const parts: Buffer[] = [];
  let length = 0;
  child.stdout.on('data', (part: Buffer) => {
    length += part.length;
    if (length > outputBytesMax) child.kill('SIGKILL');
    else parts.push(part);
  });
  child.stdin.on('error', () => {}).end(input);
  const { code, errors } = await ended;
  return { isFine: code === 0, output: Buffer.concat(parts), isFull: diskFull.test(errors) };
}

/** Throws NotRestored if git fails. */
export async function git(root: string, args: readonly string[], input = ''): Promise<Buffer> {
  const { isFine, output, isFull } = await tryGit(root, args, input);
  if (!isFine) throw new NotRestored(isFull ? 'full' : 'failed');
  return output;
}
