// A workspace that is being prepared: real folders, a real sandbox with its bridge, and a git host.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBridge } from '../../src/bridge/bridge.ts';
import { createGitHandler } from '../../src/bridge/git.ts';
import type { GitRemote } from '../../src/git/remote.ts';
import { openSandbox } from '../../src/sandbox/openSandbox.ts';
import { processEngine } from '../../src/sandbox/processEngine.ts';
import { type RunOutcome, runToEnd } from '../../src/sandbox/runToEnd.ts';
import type { SandboxEngine } from '../../src/sandbox/sandbox.ts';
import { createFolders } from '../../src/workspaces/prepare/folders.ts';
import { gitEnvironment } from '../../src/workspaces/prepare/gitEnvironment.ts';
import { type PrepareOptions, prepareWorkspace } from '../../src/workspaces/prepare/prepare.ts';
import { bubblewrap, noBubblewrap } from './sandboxes.ts';

/** Every workspace test runs in each of these. */
export const workspaceSandboxes: readonly SandboxEngine[] = [
  processEngine,
  ...(noBubblewrap === false ? [bubblewrap()] : []),
];

export const identity = { name: 'Ada', email: 'ada@example.com' };

export function remoteAt(origin: string, path: string, more: Partial<GitRemote> = {}): GitRemote {
  const url = `${origin}/${path}.git`;
  return { provider: 'github', origin, path, url, namedByOperator: true, ...more };
}

interface BenchOptions {
  readonly engine: SandboxEngine;
  readonly remote?: GitRemote | undefined;
  readonly token?: string | null;
  readonly allowPrivate?: boolean;
  readonly resourceFactor?: number;
}

interface After {
  after(fn: () => Promise<void>): void;
}

/** The names and contents of all files below a folder. Links are not followed. */
export function everythingIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return `${path}\n${entry.isFile() ? readFileSync(path, 'latin1') : ''}`;
    })
    .join('\n');
}

export async function createWorkspaceBench(
  t: After,
  { engine, remote, token = null, allowPrivate = false, resourceFactor = 1 }: BenchOptions,
) {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-ws-'));
  const folders = await createFolders(dataDir).open(1, { userId: 1, id: 'a' });
  const gitHandler =
    remote && createGitHandler({ remote, token, allowPrivate: () => Promise.resolve(allowPrivate) });
  const bridge = createBridge({ handlers: gitHandler ? { git: gitHandler.handle } : {} });
  const { workspace, home } = folders;
  const sandbox = await openSandbox({
    engine,
    bridge,
    spec: { name: 'test', workspace, home, readable: [], resourceFactor, image: null },
  });
  t.after(async () => {
    await sandbox.close();
    await bridge.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const progress: string[] = [];
  const prepare = (more: Partial<PrepareOptions> = {}) =>
    prepareWorkspace({
      sandbox,
      folders,
      remote,
      branch: null,
      identity,
      environment: gitEnvironment({ bridge: sandbox.bridge, remote, identity }),
      setupRefusal: undefined,
      ...(gitHandler && { hostFault: gitHandler.fault }),
      onProgress: (text) => progress.push(text),
      signal: new AbortController().signal,
      ...more,
    });
  /** Runs a line of shell as the agent would. */
  const asAgent = (line: string): Promise<RunOutcome> =>
    runToEnd(
      sandbox,
      { argv: ['sh', '-c', line], env: gitEnvironment({ bridge: sandbox.bridge, remote, identity }) },
      { timeoutMs: 20_000, outputBytesMax: 1024 * 1024 },
    );
  return { sandbox, folders, progress, prepare, asAgent, bridge };
}
