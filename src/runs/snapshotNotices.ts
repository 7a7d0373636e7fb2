// What the log says about snapshots of the files.
import { BlobStoreError } from '../blobs/blobStore.ts';
import { notice } from '../events/shapes.ts';
import type { NewObservation } from '../events/vocabulary/vocabulary.ts';
import type { Restored } from '../workspaces/prepare/prepare.ts';
import { NotCopied } from '../workspaces/snapshots/copy.ts';
import type { Summary } from '../workspaces/snapshots/inside/sections.ts';

export function restoredNotice(restored: Restored): NewObservation {
  if ('failure' in restored) return notice(restored.failure, 'SNAPSHOT_NOT_RESTORED');
  const at = new Date(restored.takenAt).toISOString();
  return notice(
    `The files were restored from the snapshot of ${at}. Later changes that were not pushed, and files that Git ignores, are missing.`,
    'SNAPSHOT_RESTORED',
  );
}

/** Undefined if nothing was left out. */
export function leftOutNotice({ leftOut: { names, count } }: Summary): NewObservation | undefined {
  if (count === 0) return undefined;
  const more = count > names.length ? ` and ${count - names.length} more` : '';
  return notice(
    `Some files are too large or too many for snapshots, and would be missing on another machine: ${names.join(', ')}${more}.`,
    'SNAPSHOT_INCOMPLETE',
  );
}

export function notStoredNotice(error: Error): NewObservation {
  const why =
    error instanceof NotCopied
      ? `The files could not be copied: ${error.message}`
      : error instanceof BlobStoreError
        ? 'The snapshot store cannot be used now'
        : 'An internal error occurred; the log of the service has the details';
  return notice(
    `No snapshot of the files was stored. ${why}. The next turn tries again.`,
    'SNAPSHOT_NOT_STORED',
  );
}
