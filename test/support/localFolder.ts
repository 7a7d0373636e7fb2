// A working tree of a user: a clone with changes of every kind that is not pushed.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { commit, git, startGitServer } from './gitServer.ts';

interface After {
  after(fn: () => Promise<void>): void;
}

export interface LocalFolder {
  readonly path: string;
  write(file: string, content: string | Buffer): void;
  git(...args: string[]): string;
}

export function temporaryFolder(t: After, parent = tmpdir()): string {
  const path = mkdtempSync(join(parent, 'parley-local-'));
  t.after(async () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A folder that is not a repository. */
export function plainFolder(t: After, parent?: string): LocalFolder {
  const path = temporaryFolder(t, parent);
  return {
    path,
    write: (file, content) => {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      writeFileSync(join(path, file), content);
    },
    git: (...args) => git(path, args),
  };
}

export const bytes = Buffer.from(Array.from({ length: 3_000 }, (_, i) => (i * 7_919) % 256));

/** A git host with `team/app`, and a clone of it without changes. */
export async function cloneFolder(t: After) {
  const host = await startGitServer(t);
  const repository = host.repository('team/app');
  const files = {
    'README.md': 'main\n',
    'src/a.ts': 'a\nb\nc\n',
    'old.txt': 'old\n',
    '.gitignore': 'out/\n',
  };
  const pushed = commit(repository, 'main', files);
  const folder = plainFolder(t);
  folder.git('clone', '--quiet', repository, '.');
  folder.git('remote', 'set-url', 'origin', `${host.url}/team/app.git`);
  return { ...folder, host, repository, pushed };
}

/** A commit that is not pushed, and changes that are not committed. */
export function changeEverything({ path, write, git }: LocalFolder): void {
  write('src/a.ts', 'a\nB\nc\n');
  git('commit', '--quiet', '-am', 'not pushed');
  write('README.md', 'main, changed\r\nwithout an end');
  git('rm', '--quiet', 'old.txt');
  write('staged.txt', 'staged\n');
  git('add', 'staged.txt');
  write('new/ünï code.txt', 'new\n');
  write('image.bin', bytes);
  write('run.sh', '#!/bin/sh\n');
  chmodSync(join(path, 'run.sh'), 0o755);
  symlinkSync('README.md', join(path, 'link'));
  write('out/ignored.txt', 'ignored');
}

/** The tree of everything in a working tree that is not ignored, without touching its index. */
export function treeOf(folder: string): string {
  const index = join(mkdtempSync(join(tmpdir(), 'parley-index-')), 'index');
  const script = `GIT_INDEX_FILE='${index}' sh -c 'git add -A && git write-tree'`;
  const tree = git(folder, ['-c', `alias.x=!${script}`, 'x']);
  rmSync(dirname(index), { recursive: true, force: true });
  assert.match(tree, /^[0-9a-f]{40}$/);
  return tree;
}
