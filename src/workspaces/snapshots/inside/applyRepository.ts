// Brings a fresh clone into the state of the snapshot: commits, references, HEAD, the index, and all tracked files.
import { type ChildProcess, spawn } from 'node:child_process';
import { lstatSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { git, NotRestored, tryGit } from './git.ts';
import { byteText, type RepositoryState } from './sections.ts';
import { toPath } from './tree.ts';

const hash = /^[0-9a-f]{40}$/;
/** Fetched in one request. */
const fetchedMax = 100;
const changedReferencesMax = 5_000;

/** Reads a pack from its standard input. */
export function unpackObjects(root: string): ChildProcess {
  return spawn('git', ['index-pack', '--stdin'], { cwd: root, stdio: ['pipe', 'ignore', 'pipe'] });
}

async function missing(root: string, hashes: readonly string[]): Promise<string[]> {
  const wanted = [...new Set(hashes)].filter((one) => hash.test(one));
  if (wanted.length === 0) return [];
  const checked = await git(root, ['cat-file', '--batch-check'], wanted.map((one) => `${one}\n`).join(''));
  const found = new Set([...checked.toString().matchAll(/^([0-9a-f]{40}) \w+ \d+$/gm)].map(([, one]) => one));
  return wanted.filter((one) => !found.has(one));
}

/** A host may keep commits that no branch has any more. */
async function fetchMissing(root: string, hashes: readonly string[]): Promise<void> {
  const lacking = await missing(root, hashes);
  for (let at = 0; at < lacking.length; at += fetchedMax)
    await tryGit(root, ['fetch', '--quiet', 'origin', ...lacking.slice(at, at + fetchedMax)]);
  if (lacking.length > 0 && (await missing(root, lacking)).length > 0) throw new NotRestored('no_commit');
}

async function currentReferences(root: string): Promise<Map<string, string>> {
  const listed = await git(root, ['for-each-ref', '--format=%(objectname) %(refname)']);
  const found = listed.toString().matchAll(/^([0-9a-f]{40}) (.+)$/gm);
  return new Map([...found].map(([, commit = '', name = '']) => [name, commit]));
}

/** Sets the references, except those of the remote, which the clone has set. Drops references whose commit is gone. */
async function applyReferences(root: string, { references }: RepositoryState): Promise<void> {
  const current = await currentReferences(root);
  const wanted = new Map(references);
  const gone = new Set(await missing(root, [...wanted.values()]));
  const stale = [...current.keys()].filter((name) => name.startsWith('refs/heads/') && !wanted.has(name));
  const changed = [...wanted].filter(
    ([name, commit]) => name.startsWith('refs/') && current.get(name) !== commit && !gone.has(commit),
  );
  // HEAD must not name a branch while that is replaced.
  for (const name of stale.slice(0, changedReferencesMax)) await tryGit(root, ['update-ref', '-d', name]);
  for (const [name, commit] of changed.slice(0, changedReferencesMax))
    await tryGit(root, ['update-ref', name, commit]);
}

async function applyHead(root: string, { branch, commit }: RepositoryState): Promise<void> {
  if (branch !== null) await git(root, ['symbolic-ref', 'HEAD', branch]);
  else if (commit !== null) await git(root, ['update-ref', '--no-deref', 'HEAD', commit]);
}

/** Never follows a link: a folder on the way must be a folder. */
function removeFile(root: string, name: string): void {
  const parts = name.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return;
  for (let i = 1; i < parts.length; i++) {
    const folder = lstatSync(toPath(root, parts.slice(0, i).join('/')), { throwIfNoEntry: false });
    if (folder?.isDirectory() !== true) return;
  }
  try {
    rmSync(toPath(root, name), { force: true });
  } catch {
    // A folder has this name.
  }
}

async function applyIndex(root: string, { commit }: RepositoryState, index: Buffer): Promise<void> {
  writeFileSync(join(root, '.git/index'), index);
  const since =
    commit === null ? [] : ['diff-index', '--cached', '--name-only', '--diff-filter=D', '-z', commit, '--'];
  const unstaged = since.length === 0 ? '' : (await git(root, since)).toString(byteText);
  for (const name of unstaged.split('\0').slice(0, -1)) removeFile(root, name);
  await git(root, ['checkout-index', '--all', '--force', '--index', '--quiet']);
}

export async function applyRepository(
  root: string,
  state: RepositoryState,
  index: Buffer | undefined,
  hasRemote: boolean,
): Promise<void> {
  const { commit, needs } = state;
  const critical = [...(commit === null ? [] : [commit]), ...needs];
  if (hasRemote) await fetchMissing(root, critical);
  else if ((await missing(root, critical)).length > 0) throw new NotRestored('no_commit');
  await applyHead(root, { ...state, branch: null });
  await applyReferences(root, state);
  await applyHead(root, state);
  // Fetches the contents of all files at once, if the clone lacks them.
  if (commit !== null) await git(root, ['reset', '--hard', '--quiet', commit]);
  if (index !== undefined) await applyIndex(root, state, index);
  for (const name of state.deleted) removeFile(root, name);
}
