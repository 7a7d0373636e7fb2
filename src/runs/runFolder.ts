// The folder that the agent of a run works in: the workspace of its conversation, or a local folder of its user.
import { notice } from '../events/shapes.ts';
import { replaceFile } from '../process/durableFiles.ts';
import type { SandboxEngine } from '../sandbox/sandbox.ts';
import type { ConversationFolders } from '../workspaces/prepare/folders.ts';
import { guardFolder } from '../workspaces/prepare/guardFolder.ts';
import type { RunContext, RunDependencies } from './runContext.ts';
import { RunEnd } from './runEnd.ts';

export interface RunFolder {
  readonly workspace: string;
  readonly isLocal: boolean;
  /** Parts of it that the agent cannot change. */
  readonly readOnly: readonly string[];
  /** Called when nothing runs in it any more. */
  release(): void;
}

/** Throws RunEnd unless the agent may work in the folder itself, and nobody else does. */
async function openLocalFolder(
  { localFolders }: RunDependencies,
  { conversation, recorder }: RunContext,
  { kind }: SandboxEngine,
  folders: ConversationFolders,
  path: string,
): Promise<RunFolder> {
  const refuse = (sentence: string) => new RunEnd('workspace_error', sentence);
  const fault = await localFolders.findFault(path);
  if (fault !== undefined) throw refuse(`The local folder ${fault}.`);
  if (kind !== 'bubblewrap')
    throw refuse(
      'A local folder needs bubblewrap, which protects the files in it that programs of yours act on. Set PARLEY_SANDBOX=bubblewrap.',
    );
  const held = localFolders.hold(path, conversation.id);
  if ('takenBy' in held)
    throw refuse(
      `The conversation ${held.takenBy} works in the same folder. Stop it first: parley stop ${held.takenBy}`,
    );
  // Before anything is created, so that the folder is found again after a crash.
  replaceFile(folders.localMark, path);
  const guarded = guardFolder(path, folders.guardRecord);
  if ('fault' in guarded) {
    held.release();
    throw refuse(guarded.fault);
  }
  let isOpen = true;
  const release = () => {
    if (!isOpen) return;
    isOpen = false;
    if (held.release()) guarded.release();
  };
  await recorder.add([
    notice('The agent works in your local folder itself. .git and settings of editors are read-only for it.'),
  ]);
  return { workspace: path, isLocal: true, readOnly: guarded.readOnly, release };
}

export async function openRunFolder(
  dependencies: RunDependencies,
  context: RunContext,
  engine: SandboxEngine,
  folders: ConversationFolders,
): Promise<RunFolder> {
  const { localFolder } = context.inputs;
  if (localFolder !== undefined) return openLocalFolder(dependencies, context, engine, folders, localFolder);
  return { workspace: folders.workspace, isLocal: false, readOnly: [], release: () => {} };
}
