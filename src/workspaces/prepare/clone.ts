// Git as the service itself uses it, in a sandbox and with the strictest configuration: clones, and reads the state of
// a workspace.

import { type GitRemote, isBranchName } from '../../git/remote.ts';
import type { OpenSandbox } from '../../sandbox/openSandbox.ts';
import { runToEnd } from '../../sandbox/runToEnd.ts';
import { mib } from '../../validation/schema.ts';
import { cloneFailure } from './cloneFailure.ts';
import { type GitIdentity, strictGitEnvironment } from './gitEnvironment.ts';
import { createGitProgressReader } from './progress.ts';
import { setupScript } from './setupScript.ts';

export interface GitContext {
  readonly sandbox: OpenSandbox;
  /** Undefined if the conversation has no repository. */
  readonly remote: GitRemote | undefined;
  readonly identity: GitIdentity;
  readonly signal: AbortSignal;
}

export interface CloneOptions extends GitContext {
  /** Null for the default branch of the repository. */
  readonly branch: string | null;
  /** Why the bridge could not reach the host: the `fault` of its git handler. */
  readonly hostFault?: () => string | undefined;
  readonly timeoutMs: number;
  readonly report: (name: string, detail?: string) => void;
  /** Whether files are checked out; true by default. */
  readonly checkout?: boolean;
}

/** The state of a workspace. */
export interface WorkspaceState {
  readonly hasSetupScript: boolean;
}

/** A sentence for the user. */
export interface CloneFault {
  readonly fault: string;
}

const readStateMs = 30_000;
const outputBytesMax = mib;
/** Git gives up if the transfer stays below this speed for this long. */
const lowSpeed = { GIT_HTTP_LOW_SPEED_LIMIT: '1', GIT_HTTP_LOW_SPEED_TIME: '90' };

export const stateScript = `test ! -f ${setupScript} || echo setup`;
/** One script for all, because starting a sandbox takes longer than running a program in it. */
const cloneScript = `git "$@" || exit\n${stateScript}`;

function run(
  { sandbox, remote, identity, signal }: GitContext,
  args: readonly string[],
  timeoutMs: number,
  onErrorOutput: (text: string) => void,
) {
  const env = { ...strictGitEnvironment({ bridge: sandbox.bridge, remote, identity }), ...lowSpeed };
  const bounds = { timeoutMs, outputBytesMax, signal, onErrorOutput };
  const program = {
    argv: ['sh', '-c', cloneScript, 'sh', ...args],
    env,
    offline: remote === undefined,
    limitAddressSpace: true,
  } as const;
  return runToEnd(sandbox, program, bounds);
}

export function parseState(stdout: Buffer): WorkspaceState {
  return { hasSetupScript: /^setup$/m.test(stdout.toString()) };
}

/** Reads the state of an existing workspace, whose contents may be anything. */
export async function readWorkspaceState({
  sandbox,
  signal,
}: GitContext): Promise<WorkspaceState | CloneFault> {
  const launch = { argv: ['sh', '-c', stateScript], env: {}, offline: true } as const;
  const bounds = { timeoutMs: readStateMs, outputBytesMax, signal };
  const { code, bound, stdout } = await runToEnd(sandbox, launch, bounds);
  if (code === 0 && bound === undefined) return parseState(stdout);
  return { fault: 'The workspace cannot be read.' };
}

/** File contents are fetched only when they are needed, if the server supports that. */
function argsOf({ remote, branch, checkout = true }: CloneOptions): string[] {
  if (remote === undefined) return ['init', '--quiet'];
  const flags = ['--origin=origin', '--filter=blob:none', '--no-recurse-submodules', '--progress'];
  if (!checkout) flags.push('--no-checkout');
  return ['clone', ...flags, ...(branch === null ? [] : [`--branch=${branch}`]), '--', remote.url, '.'];
}

/** Fills an empty workspace with a clone or an empty repository. */
export async function fillWorkspace(options: CloneOptions): Promise<WorkspaceState | CloneFault> {
  const { remote, branch, timeoutMs, hostFault, report } = options;
  if (branch !== null && !isBranchName(branch)) return { fault: 'The branch name is not valid in Git.' };
  if (remote !== undefined) report('Cloning the repository');
  const outcome = await run(options, argsOf(options), timeoutMs, createGitProgressReader(report));
  if (outcome.code === 0 && outcome.bound === undefined) return parseState(outcome.stdout);
  const path = remote?.path ?? 'the workspace';
  return { fault: cloneFailure(outcome, { path, branch, timeoutMs, fault: hostFault?.() }) };
}
