// Reads all references of a repository without git, because git would read the repository's configuration.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { kindOf, readBeginning, readContained } from '../../read/inside/contained.ts';

const referencesMax = 20_000;
const referenceBytesMax = 4_096;
const packedBytesMax = 16 * 1_024 * 1_024;
const depthMax = 30;
const stashesMax = 1_000;
const reflogBytesMax = 1_024 * 1_024;

const hash = /^[0-9a-f]{40}$/;

export interface AllReferences {
  readonly branch: string | null;
  /** The commit of a detached HEAD. */
  readonly detached: string | null;
  readonly byName: ReadonlyMap<string, string>;
  /** Commits that no reference names: older stashes, and those of a merge or rebase in progress. */
  readonly others: readonly string[];
}

function readPacked(gitDir: string): Map<string, string> {
  const text = readContained(gitDir, 'packed-refs', packedBytesMax)?.toString() ?? '';
  const found = new Map<string, string>();
  for (const [, commit = '', name = ''] of text.matchAll(/^([0-9a-f]{40}) (refs\/.+)$/gm)) {
    if (found.size >= referencesMax) break;
    found.set(name, commit);
  }
  return found;
}

function addLoose(gitDir: string, found: Map<string, string>): void {
  const waiting: [name: string, depth: number][] = [['refs', 0]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [folder, depth] = next;
    if (kindOf(join(gitDir, folder)) !== 'folder') continue;
    for (const entry of readdirSync(join(gitDir, folder), { withFileTypes: true })) {
      const name = `${folder}/${entry.name}`;
      if (entry.isDirectory() && depth < depthMax) waiting.push([name, depth + 1]);
      if (!entry.isFile() || found.size >= referencesMax) continue;
      const text = readContained(gitDir, name, referenceBytesMax)?.toString().trim() ?? '';
      if (hash.test(text)) found.set(name, text);
    }
  }
}

function hashesIn(text: string | undefined, pattern: RegExp, max: number): string[] {
  return [...(text ?? '').matchAll(pattern)].slice(0, max).map(([, commit = '']) => commit);
}

/** `gitDir` must be a real path. */
export function readAllReferences(gitDir: string): AllReferences {
  const head = readContained(gitDir, 'HEAD', referenceBytesMax)?.toString().trim() ?? '';
  const [, branch = null] = /^ref: (refs\/.+)$/.exec(head) ?? [];
  const byName = readPacked(gitDir);
  addLoose(gitDir, byName);
  const stashes = readBeginning(gitDir, 'logs/refs/stash', reflogBytesMax)?.toString();
  const pending = ['MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'REBASE_HEAD', 'ORIG_HEAD'].flatMap(
    (name) => hashesIn(readBeginning(gitDir, name, referenceBytesMax)?.toString(), /^([0-9a-f]{40})\b/gm, 10),
  );
  const rebased = ['rebase-merge/onto', 'rebase-merge/orig-head', 'rebase-apply/orig-head'].flatMap((name) =>
    hashesIn(readBeginning(gitDir, name, referenceBytesMax)?.toString(), /^([0-9a-f]{40})\b/gm, 1),
  );
  return {
    branch,
    detached: hash.test(head) ? head : null,
    byName,
    others: [...hashesIn(stashes, /^[0-9a-f]{40} ([0-9a-f]{40}) /gm, stashesMax), ...pending, ...rebased],
  };
}
