// What the log says about snapshots of the files.
import { BlobStoreError } from '../blobs/blobStore.ts';
import { notice } from '../events/shapes.ts';
import type { NewObservation } from '../events/vocabulary/vocabulary.ts';
import { mib } from '../validation/schema.ts';
import type { Restored } from '../workspaces/prepare/prepare.ts';
import { fileBytesMax } from '../workspaces/snapshots/bounds.ts';
import { NotCopied } from '../workspaces/snapshots/copy.ts';
import type { LeftOutFile, LeftOutReason, Summary } from '../workspaces/snapshots/inside/sections.ts';

export function restoredNotice({ takenAt }: Restored): NewObservation {
  const at = new Date(takenAt).toISOString();
  return notice(
    `The files were restored from the snapshot of ${at}. Later changes that were not pushed, and files that Git ignores, are missing.`,
    'SNAPSHOT_RESTORED',
  );
}

const reasons: Readonly<Record<LeftOutReason, string>> = {
  too_large: `larger than ${fileBytesMax / mib} MiB, or than PARLEY_SNAPSHOT_MB`,
  no_room: 'all files together exceed PARLEY_SNAPSHOT_MB',
  too_many: 'more files than PARLEY_SNAPSHOT_FILES',
  unreadable: 'not readable',
  too_deep: 'in too many folders',
};

const mb = 1_000_000;

function describeFile({ name, bytes, reason }: LeftOutFile): string {
  const size = bytes >= mb / 10 ? `${(bytes / mb).toFixed(1)} MB, ` : '';
  return `${name} (${size}${reasons[reason]})`;
}

/** Undefined if nothing was left out. */
export function leftOutNotice({ leftOut: { files, count } }: Summary): NewObservation | undefined {
  if (count === 0) return undefined;
  const more = count > files.length ? ` and ${count - files.length} more` : '';
  return notice(
    `Snapshots lack some files, which would be missing on another machine: ${files.map(describeFile).join(', ')}${more}.`,
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
