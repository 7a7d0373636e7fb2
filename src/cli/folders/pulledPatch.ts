// A patch with the work of an agent. It is untrusted: every path and link is checked before anything is written.
import { isUtf8 } from 'node:buffer';
import { posix } from 'node:path';
import { RefusalError } from '../../errors.ts';
import { isGuardedPath } from '../../git/guardedPaths.ts';
import { plainLine } from '../../text/plainText.ts';
import type { Git } from './localGit.ts';

interface Files {
  readonly bytes: Buffer;
  /** The files that it changes. */
  readonly paths: readonly string[];
}

export interface PulledPatch extends Files {
  /** The commit that the conversation began at; undefined if it began without a repository. */
  readonly base: string | undefined;
  /** Those of them that programs of the user act on. */
  readonly guarded: readonly string[];
  /** Files of the agent that are left out, because their names could mean another file here, such as `.GIT/config`. */
  readonly leftOut: readonly string[];
}

const firstLine = /^# base: ([0-9a-f]{40}|none)\n/;
/** The service names what Git does not take. Names are JSON. */
const leftOutLine = /^# left out: (".*")\n/;
const lineCharsMax = 64 * 1_024;
const namedMax = 10;
/** Maps each byte to a character. */
const byteText = 'latin1';

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

/** The sections of the files. Lines of content never start like a header. */
function splitSections(bytes: Buffer): string[] {
  return bytes.toString(byteText).split(/^(?=diff --git )/m);
}

/** Without these files. Throws if the patch is not one section for each file. */
async function withoutPaths(git: Git, { bytes, paths }: Files, unsafe: ReadonlySet<string>): Promise<Files> {
  if (unsafe.size === 0) return { bytes, paths };
  const sections = splitSections(bytes);
  const rest = sections.filter((_, i) => !unsafe.has(paths[i] ?? ''));
  const kept = Buffer.from(rest.join(''), byteText);
  const left = sections.length === paths.length ? await listPaths(git, kept) : paths;
  if (left.every(isSafePath)) return { bytes: kept, paths: left };
  throw new RefusalError(
    `The agent has written files with names that are not taken over: ${listNames([...unsafe])}. Nothing was changed.`,
  );
}

/** The name as the service has written it, if it is not JSON. */
function textOf(name: string): string {
  const text = Buffer.from(name, byteText).toString();
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

function readLeftOut(bytes: Buffer): { readonly names: string[]; readonly rest: Buffer } {
  const names: string[] = [];
  let rest = bytes;
  for (;;) {
    const [line, name] = leftOutLine.exec(rest.toString(byteText, 0, lineCharsMax)) ?? [];
    if (line === undefined || name === undefined) return { names, rest };
    names.push(textOf(name));
    rest = rest.subarray(line.length);
  }
}

export async function readPulledPatch(git: Git, downloaded: Blob): Promise<PulledPatch> {
  const all = Buffer.from(await downloaded.arrayBuffer());
  const [line = '', base] = firstLine.exec(all.toString(byteText, 0, lineCharsMax)) ?? [];
  if (base === undefined) throw new RefusalError('The service returned something that is not a patch.');
  const { names, rest } = readLeftOut(all.subarray(line.length));
  const named = await listPaths(git, rest);
  const unsafe = new Set(named.filter((path) => !isSafePath(path)));
  const { bytes, paths } = await withoutPaths(git, { bytes: rest, paths: named }, unsafe);
  return {
    base: base === 'none' ? undefined : base,
    bytes,
    paths,
    guarded: paths.filter(isGuardedPath),
    leftOut: [...names, ...unsafe],
  };
}

/** Whether a link leads out of its repository, or into `.git`. */
export function leadsOut(path: string, target: string): boolean {
  if (target === '' || posix.isAbsolute(target)) return true;
  const end = posix.normalize(posix.join(posix.dirname(path), target)).replace(/\/$/, '');
  return end !== '.' && !isSafePath(end);
}

/** The links of a patch that lead out of the repository, or whose target is not shown. */
export function linksOut({ bytes, paths }: PulledPatch): string[] {
  const sections = splitSections(bytes);
  const isLink = (section: string) => /^(new file mode|new mode|index [0-9a-f.]+) 120000$/m.test(section);
  if (!sections.some(isLink)) return [];
  // The sections are then those of the paths, in the same order.
  if (sections.length !== paths.length) return [...paths];
  return paths.filter((path, i) => {
    const section = sections[i] ?? '';
    if (!isLink(section)) return false;
    const added = [...section.matchAll(/^\+(?!\+\+ )(.*)$/gm)].map(([, text = '']) => text);
    return added.length !== 1 || leadsOut(path, Buffer.from(added[0] ?? '', byteText).toString());
  });
}
