// Removes what is in a sandbox before its files are prepared: a run that did not get far may have left a part of them,
// and a volume that the cluster gives out again may have those of somebody else.
import type { OpenSandbox } from '../../sandbox/openSandbox.ts';
import { runToEnd } from '../../sandbox/runToEnd.ts';

const emptyMsMax = 5 * 60_000;
const outputBytesMax = 64 * 1_024;

/** Agents can lock folders. Neither program follows links in them. */
const script = `empty() { find "$@" -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +; }
empty "$@" 2>/dev/null || { chmod -R u+rwX -- "$@" 2>/dev/null; empty "$@" 2>/dev/null; }`;

/** Returns false if something is left. */
export async function emptyFiles(sandbox: OpenSandbox, signal: AbortSignal): Promise<boolean> {
  const { workspace, home } = sandbox.paths;
  const program = { argv: ['sh', '-c', script, 'sh', workspace, home], env: {}, cwd: '/' } as const;
  const { code } = await runToEnd(sandbox, program, { timeoutMs: emptyMsMax, outputBytesMax, signal });
  return code === 0;
}
