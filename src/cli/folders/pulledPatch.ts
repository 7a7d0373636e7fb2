// A patch with the work of an agent. It is untrusted: every path and link is checked before anything is written.
import { isUtf8 } from 'node:buffer';
import { posix } from 'node:path';
import { RefusalError } from '../../errors.ts';
import { isGuardedPath } from '../../git/guardedPaths.ts';
import { plainLine } from '../../text/plainText.ts';
import type { Git } from './localGit.ts';

export interface PulledPatch {
  /** The commit that the conversation began at; undefined if it began without a repository. */
  readonly base: string | undefined;
  readonly bytes: Buffer;
  /** The files that it changes. */
  readonly paths: readonly string[];
  /** Those of them that programs of the user act on. */
  readonly guarded: readonly string[];
}

const firstLine = /^# base: ([0-9a-f]{40}|none)\n/;
const firstLineChars = 60;
const namedMax = 10;

/** Names that Git, Windows or macOS would take for `.git`. */
const gitName = /^(\.git|git~\d+)[\s.]*(:.*)?$/i;
/** Characters that macOS ignores in names. */
const ignoredCharacters = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

export function listNames(paths: readonly string[]): string {
  const shown = paths.slice(0, namedMax).map(plainLine).join(', ');
  return paths.length > namedMax ? `${shown} and ${paths.length - namedMax} more` : shown;
}

/** Whether a path with slashes stays in its repository and out of `.git`, on every file system. */
export function isSafePath(path: string): boolean {
  if (/\p{Cc}/u.test(path)) return false;
  const names = path.replaceAll(ignoredCharacters, '').split('/');
  return names.every((name) => name !== '' && name !== '.' && name !== '..' && !gitName.test(name));
}

/** Reads only the headers: `numstat` names each file once, because there are no renames. */
async function listPaths(git: Git, bytes: Buffer): Promise<string[]> {
  if (bytes.length === 0) return [];
  const { stdout } = await git(['apply', '--numstat', '-z', '-'], { input: bytes });
  if (!isUtf8(stdout)) throw new RefusalError('The agent has written files whose names are not UTF-8.');
  const lines = stdout.toString().split('\0').slice(0, -1);
  return lines.map((line) => line.replace(/^(\d+|-)\t(\d+|-)\t/, ''));
}

export async function readPulledPatch(git: Git, downloaded: Blob): Promise<PulledPatch> {
  const all = Buffer.from(await downloaded.arrayBuffer());
  const [line = '', base] = firstLine.exec(all.toString('latin1', 0, firstLineChars)) ?? [];
  if (base === undefined) throw new RefusalError('The service returned something that is not a patch.');
  const bytes = all.subarray(line.length);
  const paths = await listPaths(git, bytes);
  const unsafe = paths.filter((path) => !isSafePath(path));
  if (unsafe.length > 0)
    throw new RefusalError(
      `The agent has written files with names that are not taken over: ${listNames(unsafe)}. Nothing was changed.`,
    );
  return { base: base === 'none' ? undefined : base, bytes, paths, guarded: paths.filter(isGuardedPath) };
}

/** Whether a link leads out of its repository, or into `.git`. */
export function leadsOut(path: string, target: string): boolean {
  if (target === '' || posix.isAbsolute(target)) return true;
  const end = posix.normalize(posix.join(posix.dirname(path), target)).replace(/\/$/, '');
  return end !== '.' && !isSafePath(end);
}

/** The links of a patch that lead out of the repository, or whose target is not shown. */
export function linksOut({ bytes, paths }: PulledPatch): string[] {
  const sections = bytes.toString('utf8').split(/^(?=diff --git )/m);
  const isLink = (section: string) => /^(new file mode|new mode|index [0-9a-f.]+) 120000$/m.test(section);
  if (!sections.some(isLink)) return [];
  // The sections are then those of the paths, in the same order.
  if (sections.length !== paths.length) return [...paths];
  return paths.filter((path, i) => {
    const section = sections[i] ?? '';
    if (!isLink(section)) return false;
    const added = [...section.matchAll(/^\+(?!\+\+ )(.*)$/gm)].map(([, text = '']) => text);
    return added.length !== 1 || leadsOut(path, added[0] ?? '');
  });
}
