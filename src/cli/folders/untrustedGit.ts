// Runs the git of this machine for what an agent has written: nothing in it can make git run a program.
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type GitOptions, type GitResult, runGit } from './localGit.ts';

const strictConfig = [
  ...['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'core.protectHFS=true', 'core.protectNTFS=true'],
  ...['core.attributesFile=/dev/null', 'submodule.recurse=false', 'commit.gpgSign=false', 'gc.auto=0'],
  // An option of the user could let a patch fix up or refuse white space.
  'apply.whitespace=nowarn',
];

/** Filters of the user, such as LFS, which .gitattributes of the agent could apply to any file. */
async function filterConfig(folder: string): Promise<string[]> {
  const { stdout } = await runGit(folder, ['config', '--null', '--name-only', '--get-regexp', '^filter\\.'], {
    allowed: [1],
  });
  const names = stdout
    .toString()
    .split('\0')
    .flatMap((key) => /^(filter\..+)\.[^.]+$/s.exec(key)?.[1] ?? []);
  return [...new Set(names)].flatMap((name) => [
    ...['clean', 'smudge', 'process'].map((key) => `${name}.${key}=`),
    `${name}.required=false`,
  ]);
}

export type UntrustedGit = (args: readonly string[], options?: GitOptions) => Promise<GitResult>;

/** Works outside of repositories, too. */
export async function openUntrustedGit(folder: string): Promise<UntrustedGit> {
  const config = [...strictConfig, ...(await filterConfig(folder))].flatMap((line) => ['-c', line]);
  return (args, options) => runGit(folder, [...config, ...args], options);
}

/** An index file of its own, so that the one of the user does not change. */
export async function withTemporaryIndex<Out>(work: (index: string) => Promise<Out>): Promise<Out> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-pull-'));
  try {
    return await work(join(folder, 'index'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
