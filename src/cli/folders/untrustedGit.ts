// Runs the git of this machine for what an agent has written: nothing in it can make git run a program.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withCleanup } from './cleanup.ts';
import type { FolderLocation } from './folderLocation.ts';
import { withIsolatedGit } from './isolatedGit.ts';
import type { Git } from './localGit.ts';

const strictConfig = [
  ...['core.protectHFS=true', 'core.protectNTFS=true', 'core.attributesFile=/dev/null'],
  ...['submodule.recurse=false', 'commit.gpgSign=false'],
  // An option of the user could let a patch fix up or refuse white space.
  'apply.whitespace=nowarn',
].flatMap((line) => ['-c', line]);

/** Works outside of repositories, too. */
export function withUntrustedGit<Out>(
  location: FolderLocation,
  work: (git: Git) => Promise<Out>,
): Promise<Out> {
  return withIsolatedGit(location, 'write', (git) =>
    work((args, options) => git([...strictConfig, ...args], options)),
  );
}

/** An index file of its own, so that the one of the user does not change. */
export async function withTemporaryIndex<Out>(work: (index: string) => Promise<Out>): Promise<Out> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-pull-'));
  return withCleanup(
    () => rmSync(folder, { recursive: true, force: true }),
    () => work(join(folder, 'index')),
  );
}
