// Makes the workspace of a conversation ready: a clone at the branch that was asked for, or an empty repository. All
// that git does, it does inside the cell. A workspace that an earlier run completed is kept as it is.
import { existsSync } from 'node:fs';
import { replaceFile } from '../../files.ts';
import type { OpenCell } from '../sandbox/openCell.ts';
import { type RunOutcome, runToEnd } from '../sandbox/runToEnd.ts';
import { cloneFailure } from './cloneFailure.ts';
import { type ConversationFolders, emptyFolder } from './folders.ts';
import { type GitIdentity, gitEnvironment, strictGitEnvironment } from './gitEnvironment.ts';
import { createGitProgressReader, createProgress, type Tell } from './progress.ts';
import { type GitRemote, isBranchName } from './remote.ts';
import { hasSetupScript, runSetupScript, type SetupFailure, setupScript } from './setupScript.ts';

/** Together less than a start may take in all. */
export interface PrepareTimes {
  readonly cloneMs: number;
  readonly setupMs: number;
}

const usualTimes: PrepareTimes = { cloneMs: 8 * 60_000, setupMs: 5 * 60_000 };
const lookMs = 10_000;
const outputBytesMax = 1024 * 1024;
/** Slower than this for so long, and git gives up. */
const lowSpeed = { GIT_HTTP_LOW_SPEED_LIMIT: '1', GIT_HTTP_LOW_SPEED_TIME: '90' };

export interface PrepareOptions {
  readonly cell: OpenCell;
  /** Those of the cell. */
  readonly folders: ConversationFolders;
  /** Undefined: the conversation has no repository. */
  readonly remote: GitRemote | undefined;
  /** Null: the default branch of the repository. */
  readonly branch: string | null;
  readonly identity: GitIdentity;
  /** False where nothing confines what the repository brings along. */
  readonly mayRunSetup: boolean;
  /** Why the bridge could not reach the host: the `fault` of its git handler. */
  readonly hostFault?: () => string | undefined;
  readonly onProgress: Tell;
  readonly signal: AbortSignal;
  readonly times?: Partial<PrepareTimes>;
}

export type Prepared =
  | {
      readonly outcome: 'ready';
      /** False where an earlier run has made it. */
      readonly fresh: boolean;
      /** Undefined where HEAD is on none. */
      readonly branch: string | undefined;
      /** Something for the log; the conversation goes on. */
      readonly setupFailure: SetupFailure | undefined;
    }
  | { readonly outcome: 'failed'; readonly sentence: string };

type Report = ReturnType<typeof createProgress>['report'];

type GitRun = Pick<PrepareOptions, 'cell' | 'remote' | 'identity' | 'signal'>;

/** Git under the strictest rules; says how it ended. */
function runGit(options: GitRun, args: readonly string[], timeoutMs: number, report?: Report) {
  const { cell, remote, identity, signal } = options;
  const env = { ...strictGitEnvironment({ bridge: cell.bridge, remote, identity }), ...lowSpeed };
  const bounds = { timeoutMs, outputBytesMax, signal };
  const progress = report && { onErrorOutput: createGitProgressReader(report) };
  return runToEnd(cell, { argv: ['git', ...args], env }, { ...bounds, ...progress });
}

/** A clone that fetches the contents of files only when they are needed, where the server can do that. */
function clone(options: PrepareOptions, { url }: GitRemote, cloneMs: number, report: Report) {
  const { branch } = options;
  const at = branch === null ? [] : [`--branch=${branch}`];
  const flags = ['--origin=origin', '--filter=blob:none', '--no-recurse-submodules', '--progress', ...at];
  report('Cloning the repository');
  return runGit(options, ['clone', ...flags, '--', url, '.'], cloneMs, report);
}

/** Undefined where it is complete, else why it is not. */
async function make(
  options: PrepareOptions,
  { cloneMs }: PrepareTimes,
  report: Report,
): Promise<string | undefined> {
  const { remote, branch, folders, hostFault } = options;
  if (branch !== null && !isBranchName(branch)) return 'The name of the branch is not one that git allows.';
  await emptyFolder(folders.workspace);
  let outcome: RunOutcome;
  if (remote === undefined) outcome = await runGit(options, ['init', '--quiet'], lookMs);
  else outcome = await clone(options, remote, cloneMs, report);
  if (outcome.code === 0 && outcome.bound === undefined) return undefined;
  const path = remote?.path ?? 'the workspace';
  return cloneFailure(outcome, { path, branch, timeoutMs: cloneMs, fault: hostFault?.() });
}

/** The branch that HEAD is on. What is in the workspace by now may be anything: git runs under the strictest rules. */
export async function currentBranch(options: GitRun): Promise<string | undefined> {
  const { code, stdout } = await runGit(options, ['symbolic-ref', '--quiet', '--short', 'HEAD'], lookMs);
  const name = stdout.toString().trim();
  return code === 0 && isBranchName(name) ? name : undefined;
}

/** Once in each workspace; one that was interrupted begins anew. */
async function setUp(
  options: PrepareOptions,
  { setupMs }: PrepareTimes,
  report: Report,
): Promise<SetupFailure | undefined> {
  const { cell, remote, identity, signal, folders, mayRunSetup } = options;
  if (remote === undefined || existsSync(folders.setupMark)) return undefined;
  const env = gitEnvironment({ bridge: cell.bridge, remote, identity });
  const script = { cell, env, signal, timeoutMs: setupMs };
  const present = await hasSetupScript(script);
  if (present && !mayRunSetup)
    return { sentence: `${setupScript} was not run, because no sandbox would confine it.`, output: '' };
  if (present) report(`Running ${setupScript}`);
  const failure = present ? await runSetupScript(script) : undefined;
  if (!signal.aborted) replaceFile(folders.setupMark, '');
  return failure;
}

/** Whatever can be the matter with the repository or its host is an outcome; only faults of this machine throw. */
export async function prepareWorkspace(options: PrepareOptions): Promise<Prepared> {
  const times = { ...usualTimes, ...options.times };
  const { signal, folders, remote, cell } = options;
  if (remote !== undefined && cell.bridge === undefined) throw new Error('a clone needs the bridge');
  const { report, end } = createProgress(options.onProgress);
  try {
    const fresh = !existsSync(folders.readyMark);
    if (fresh) {
      const sentence = await make(options, times, report);
      if (sentence !== undefined) return { outcome: 'failed', sentence };
      replaceFile(folders.readyMark, '');
    }
    const setupFailure = await setUp(options, times, report);
    const branch = await currentBranch(options);
    if (signal.aborted)
      return { outcome: 'failed', sentence: 'It was stopped while its workspace was made.' };
    return { outcome: 'ready', fresh, branch, setupFailure };
  } finally {
    end();
  }
}
