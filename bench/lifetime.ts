// Removes the temporary folder and the child processes of a run, however it ends.
import type { ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const interruptedCode = 130;

export interface Lifetime {
  /** Ends the child with the run, unless it has ended before. */
  adopt(child: ChildProcess): void;
  /** Called when the run ends or is interrupted, the last one first. */
  atEnd(close: () => Promise<void>): void;
  end(): Promise<void>;
  isInterrupted(): boolean;
}

/** From here on, all temporary folders of this process and its children are in one, which is removed at the exit. */
export function createLifetime(): Lifetime {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  // PostgreSQL may run as another user, who must be able to reach its data.
  chmodSync(folder, 0o755);
  process.env['TMPDIR'] = folder;
  const children = new Set<ChildProcess>();
  const closers: (() => Promise<void>)[] = [];
  let interrupted = false;

  async function end(): Promise<void> {
    for (const close of closers.splice(0).reverse()) await close();
  }

  process.on('exit', () => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  for (const signal of signals) {
    process.once(signal, () => {
      interrupted = true;
      void end().finally(() => process.exit(interruptedCode));
    });
  }

  return {
    adopt: (child) => {
      children.add(child);
      child.once('exit', () => children.delete(child));
    },
    atEnd: (close) => {
      closers.push(close);
    },
    end,
    isInterrupted: () => interrupted,
  };
}
