// Which volume has the files of a conversation. It is recorded together with the session when a run has opened that, so
// that a volume in which a run has not got so far counts as empty.
import type { ClaimedConversation } from '../conversations/run/claimStore.ts';
import type { OpenSandbox } from '../sandbox/openSandbox.ts';

type Recorded = Pick<ClaimedConversation, 'workspace_node' | 'workspace_volume'>;

/** Names the machine, too: a run of an older version changes only that, and its files are not on the volume. */
export function volumeRecord(nodeId: string, { volume }: OpenSandbox): string | null {
  return volume === undefined ? null : `${nodeId} ${volume}`;
}

/** Whether the files that the last run has left are on a volume, if it still exists. */
export function isOnVolume({ workspace_node: node, workspace_volume: recorded }: Recorded): boolean {
  return node !== null && recorded?.startsWith(`${node} `) === true;
}

/** Whether the files in the sandbox are those that the last run has left. */
export function hasKeptFiles({ workspace_node: node, ...recorded }: Recorded, sandbox: OpenSandbox): boolean {
  if (node === null || sandbox.volume === undefined) return false;
  return recorded.workspace_volume === volumeRecord(node, sandbox);
}
