// Prepares the workspace of a conversation: a clone of the selected branch or an empty repository, and its setup
// script. A workspace that an earlier run has completed is kept.
import { existsSync, rmSync } from 'node:fs';
import { replaceFile } from '../../process/durableFiles.ts';
import type { StoredSnapshot } from '../snapshots/service.ts';
import { type AppliedPatch, applyPatch, type StartingPatch } from './applyPatch.ts';
import {
  type CloneFault,
  fillWorkspace,
  type GitContext,
  readWorkspaceState,
  type WorkspaceState,
} from './clone.ts';
import { type ConversationFolders, emptyFolder } from './folders.ts';
import { createProgress, type ReportProgress } from './progress.ts';
import { restoreSnapshot } from './restoreSnapshot.ts';
import { runSetupScript, type SetupFailure, setupScript } from './setupScript.ts';

/** Together less than the time limit of a start. */
interface PrepareTimes {
  readonly cloneMs: number;
  readonly setupMs: number;
}

const defaultTimes: PrepareTimes = { cloneMs: 8 * 60_000, setupMs: 5 * 60_000 };

export interface PrepareOptions extends GitContext {
  /** The folders of the sandbox. */
  readonly folders: ConversationFolders;
  /** Null for the default branch of the repository. */
  readonly branch: string | null;
  /** Reads the changes that the workspace starts with. Only called for a new workspace. */
  readonly loadPatch?: () => Promise<StartingPatch | undefined>;
  /** Replaces the workspace and the home, whatever is there. */
  readonly snapshot?: StoredSnapshot | undefined;
  /** The workspace and the home are empty, whatever an earlier run has prepared. */
  readonly isNew?: boolean;
  /** The environment of the setup script. */
  readonly environment: Readonly<Record<string, string>>;
  /** Why the setup script must not run, to follow "because"; undefined if it may. */
  readonly setupRefusal: string | undefined;
  /** Why the bridge could not reach the host: the `fault` of its git handler. */
  readonly hostFault?: () => string | undefined;
  /** Takes secrets out of the output of the setup script, where it has to be cut. */
  readonly hide?: (text: string) => string;
  readonly onProgress: ReportProgress;
  readonly times?: Partial<PrepareTimes>;
}

type Prepared =
  | {
      readonly outcome: 'ready';
      /** Recorded in the log; the conversation continues. */
      readonly setupFailure: SetupFailure | undefined;
      /** Absent unless changes were applied now. */
      readonly applied?: AppliedPatch;
      /** Present if a snapshot was restored. */
      readonly restored?: Restored;
    }
  | { readonly outcome: 'failed'; readonly sentence: string };

/** The snapshot that the workspace and home come from. */
export type Restored = Pick<StoredSnapshot, 'takenAt' | 'heard'>;

type NewWorkspace = WorkspaceState & { readonly applied?: AppliedPatch; readonly restored?: Restored };
type Report = ReturnType<typeof createProgress>['report'];

async function createNew(
  options: PrepareOptions,
  timeoutMs: number,
  report: Report,
): Promise<NewWorkspace | CloneFault> {
  await emptyFolder(options.folders.workspace);
  const patch = await options.loadPatch?.();
  const filled = await fillWorkspace({ ...options, timeoutMs, report });
  if (patch !== undefined && !('fault' in filled)) report('Applying the changes of the local folder');
  return patch === undefined || 'fault' in filled ? filled : applyPatch(options, patch);
}

/** What the workspace started with, such as a patch, is in the snapshot. */
async function createFromSnapshot(
  options: PrepareOptions,
  snapshot: StoredSnapshot,
  timeoutMs: number,
  report: Report,
): Promise<NewWorkspace | CloneFault> {
  const { withoutHome } = snapshot;
  const restored = await restoreSnapshot({ ...options, snapshot, withoutHome, timeoutMs, report });
  return 'fault' in restored ? restored : { ...restored, restored: snapshot };
}

async function make(
  options: PrepareOptions,
  timeoutMs: number,
  report: Report,
): Promise<NewWorkspace | CloneFault> {
  const { folders, snapshot } = options;
  for (const mark of [folders.readyMark, folders.setupMark]) rmSync(mark, { force: true });
  const made =
    snapshot === undefined
      ? await createNew(options, timeoutMs, report)
      : await createFromSnapshot(options, snapshot, timeoutMs, report);
  if (!('fault' in made)) replaceFile(folders.readyMark, '');
  return made;
}

/** Runs once in each workspace. If it was interrupted, it starts again. */
async function setUp(
  options: PrepareOptions,
  { hasSetupScript }: WorkspaceState,
  timeoutMs: number,
  report: Report,
): Promise<SetupFailure | undefined> {
  const { sandbox, environment, signal, folders, setupRefusal, hide } = options;
  if (hasSetupScript && setupRefusal !== undefined)
    return { sentence: `${setupScript} was not run, because ${setupRefusal}.`, output: '' };
  let failure: SetupFailure | undefined;
  if (hasSetupScript) {
    report(`Running ${setupScript}`);
    failure = await runSetupScript({ sandbox, env: environment, signal, timeoutMs, ...(hide && { hide }) });
  }
  if (!signal.aborted) replaceFile(folders.setupMark, '');
  return failure;
}

/** Problems of the repository or its host are outcomes. Only faults of this machine throw. */
export async function prepareWorkspace(options: PrepareOptions): Promise<Prepared> {
  const { signal, folders, remote, sandbox } = options;
  if (remote !== undefined && sandbox.bridge === undefined) throw new Error('a clone needs the bridge');
  const fresh = !existsSync(folders.readyMark) || options.snapshot !== undefined || options.isNew === true;
  if (!fresh && existsSync(folders.setupMark)) return { outcome: 'ready', setupFailure: undefined };

  const { cloneMs, setupMs } = { ...defaultTimes, ...options.times };
  const { report, end } = createProgress(options.onProgress);
  try {
    const found: NewWorkspace | CloneFault = fresh
      ? await make(options, cloneMs, report)
      : await readWorkspaceState(options);
    if ('fault' in found) return { outcome: 'failed', sentence: found.fault };
    const setupFailure = await setUp(options, found, setupMs, report);
    if (signal.aborted)
      return {
        outcome: 'failed',
        sentence: 'The conversation was stopped while its workspace was prepared.',
      };
    const { applied, restored } = found;
    return { outcome: 'ready', setupFailure, ...(applied && { applied }), ...(restored && { restored }) };
  } finally {
    end();
  }
}
