// Formats the change of a file as a patch for `git apply`.
import { formatPatch } from 'diff';
import { diffLines } from '../text/lineDiff.ts';

interface FileChange {
  readonly path: string;
  readonly status: 'A' | 'M' | 'D';
  readonly original: string;
  readonly modified: string;
}

/** Empty if the text did not change, because there would be nothing to apply. */
export function filePatch({ path, status, original, modified }: FileChange): string {
  const hunks = diffLines(original, modified);
  if (hunks.length === 0 && status === 'M') return '';
  return formatPatch({
    isGit: true,
    isCreate: status === 'A',
    isDelete: status === 'D',
    oldFileName: status === 'A' ? '/dev/null' : `a/${path}`,
    newFileName: status === 'D' ? '/dev/null' : `b/${path}`,
    oldHeader: undefined,
    newHeader: undefined,
    hunks,
  });
}
