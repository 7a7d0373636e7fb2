// Where the files of a conversation are, if that is not a folder of a machine: on a volume, or in a pod whose worker was
// lost. It is recorded together with the session when a run has opened that, so that files with which a run has not got
// so far do not count.
import type { ClaimedConversation } from '../conversations/run/claimStore.ts';
import type { OpenSandbox } from '../sandbox/openSandbox.ts';

type Recorded = Pick<ClaimedConversation, 'workspace_node' | 'workspace_volume'>;

/** Names the machine, too: a run of an older version changes only that, and its files are not on the volume. */
export function filesRecord(nodeId: string, { files }: OpenSandbox): string | null {
  return files === undefined ? null : `${nodeId} ${files.id}`;
}

/** Whether the files that the last run has left are in such a place, if it still exists. */
export function hadRemoteFiles({ workspace_node: node, workspace_volume: recorded }: Recorded): boolean {
  return node !== null && recorded?.startsWith(`${node} `) === true;
}

/** Pods are named so by their engine. */
export function wereOnVolume({ workspace_volume: recorded }: Recorded): boolean {
  return recorded !== null && !recorded.includes(' pod/');
}

/** Whether the files in the sandbox are those that the last run has left. */
export function hasKeptFiles({ workspace_node: node, ...recorded }: Recorded, sandbox: OpenSandbox): boolean {
  if (node === null || sandbox.files === undefined) return false;
  return recorded.workspace_volume === filesRecord(node, sandbox);
}
