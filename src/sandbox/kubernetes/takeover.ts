// Finds the pod that an earlier run of a conversation has left, if the next run can go on in it. Its supervisor has ended
// the programs of the earlier run, and waits for a while.
import { specLabel } from './podSpec.ts';
import { isPodRunning, type Pod } from './podStatus.ts';

/** `found` are all pods of the conversation, and `wanted` is the hash of what the run wants. Undefined if none fits. */
export function findLivingPod(found: readonly Pod[], wanted: string): Pod | undefined {
  const [only, ...more] = found;
  // If there are several, it is not known which of them has the files.
  if (only === undefined || more.length > 0) return undefined;
  const { labels, deletionTimestamp, ownerReferences } = only.metadata;
  const isOurs = deletionTimestamp === undefined && ownerReferences === undefined;
  return isOurs && isPodRunning(only) && labels?.[specLabel] === wanted ? only : undefined;
}
