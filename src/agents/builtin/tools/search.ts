// The tools that search: for text in files, and for files by their names.
import { realpath, stat, glob as walk } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import Type, { type Static } from 'typebox';
import type { Environment } from './command.ts';
import { failing, ToolFailure } from './failure.ts';
import { absolute, findStats, kindOf, pathCharsMax, shownPath } from './fileText.ts';
import { checkGlob, globCharsMax, spell } from './globs.ts';
import { grep } from './grep.ts';
import { firstChars } from './output.ts';
import { isWithin, resolvePath } from './resolvedPath.ts';
import { defineTool, type Tool, type ToolResult, type ToolUse } from './tool.ts';

/** Folders that are useless in a search, and often larger than everything else. */
const skippedFolders = ['.git', 'node_modules'];
const patternCharsMax = 2_000;
const contextLinesMax = 10;
const linesMax = 250;
const lineCharsMax = 300;
const shownCharsMax = 30_000;
const filesShownMax = 200;
/** The limit of matches before they are sorted by age. */
const filesFoundMax = 5_000;
const visitedMax = 500_000;
const walkMsMax = 15_000;
const statsAtOnce = 32;

const path = Type.Optional(
  Type.String({ minLength: 1, maxLength: pathCharsMax, description: 'Default: the workspace.' }),
);

const TextInput = Type.Object({
  pattern: Type.String({
    minLength: 1,
    maxLength: patternCharsMax,
    description: 'An extended regular expression (grep -E): [0-9] for digits, ( ) for groups.',
  }),
  path,
  glob: Type.Optional(
    Type.String({ minLength: 1, maxLength: globCharsMax, description: 'Of file names, such as *.{ts,tsx}.' }),
  ),
  ignore_case: Type.Optional(Type.Boolean()),
  context_lines: Type.Optional(Type.Integer({ minimum: 0, maximum: contextLinesMax })),
});

const FilesInput = Type.Object({
  glob: Type.String({ minLength: 1, maxLength: globCharsMax, description: 'Such as src/**/*.test.ts.' }),
  path,
});

/** Syntax of other regular expressions that grep silently interprets differently. */
function checkPattern(pattern: string): void {
  const escaped = [...pattern.matchAll(/\\(.)/gs)].find(([, character = '']) => 'dD'.includes(character));
  if (escaped !== undefined)
    throw new ToolFailure(`grep -E does not know ${escaped[0]}: write [0-9] or [^0-9] instead.`);
  if (/(?<!\\)\(\?/.test(pattern))
    throw new ToolFailure(
      'grep -E does not know (?: and the like: write ( ) for a group; there is no look-around.',
    );
}

/** grep matches names only, so folders must be in the path. */
function includes(glob: string | undefined): string[] {
  if (glob === undefined) return [];
  const name = glob.replace(/^(\*\*\/)+/, '');
  checkGlob(name);
  if (name.includes('/'))
    throw new ToolFailure('glob is for file names, such as *.ts. Give the folder as path instead.');
  return spell(name).map((one) => `--include=${one}`);
}

async function pathToSearch(given: string | undefined, use: ToolUse, folder: boolean): Promise<string> {
  const named = given ?? '.';
  const path = use.within === undefined ? absolute(named, use) : (await resolvePath(named, use)).path;
  const shown = shownPath(path, use);
  const stats = await findStats(path, `Searching ${shown}`);
  if (stats === undefined) throw new ToolFailure(`There is no ${shown}. Look for it with find_files.`);
  if (!stats.isDirectory() && (folder || !stats.isFile()))
    throw new ToolFailure(`${shown} is a ${kindOf(stats)}, which is not searched.`);
  return path;
}

/** Returns the folders to skip, except those that the model searches explicitly. */
function skippedBelow(path: string): string[] {
  const parts = path.split('/');
  return skippedFolders.filter((name) => !parts.includes(name));
}

/** Joins lines within the limits. False means that some are left out. */
function fit(lines: readonly string[], countMax: number): { text: string; whole: boolean } {
  const kept: string[] = [];
  let chars = 0;
  for (const line of lines) {
    const shown = line.length > lineCharsMax ? `${firstChars(line, lineCharsMax)} …` : line;
    chars += shown.length + 1;
    if (kept.length === countMax || chars > shownCharsMax) return { text: kept.join('\n'), whole: false };
    kept.push(shown);
  }
  return { text: kept.join('\n'), whole: true };
}

async function searchText(
  input: Static<typeof TextInput>,
  use: ToolUse,
  env: Environment,
): Promise<ToolResult> {
  checkPattern(input.pattern);
  const path = await pathToSearch(input.path, use, false);
  const { lines, cut } = await grep({
    args: [
      ...['-rnIEHs', '--color=never', '--devices=skip'],
      ...skippedBelow(path).map((name) => `--exclude-dir=${name}`),
      ...includes(input.glob),
      ...(input.ignore_case === true ? ['-i'] : []),
      ...(input.context_lines === undefined ? [] : ['-C', String(input.context_lines)]),
      ...['-e', input.pattern, '--', shownPath(path, use)],
    ],
    cwd: use.cwd,
    env,
    signal: use.signal,
  });
  if (lines.length === 0) return { text: 'Nothing is found.' };
  const { text, whole } = fit(
    lines.map((line) => line.replace(/^\.\//, '').replace(/\r$/, '')),
    linesMax,
  );
  if (whole && !cut) return { text };
  return { text: `${text}\n[there is more: give a narrower pattern, path or glob]` };
}

interface Walk {
  readonly paths: string[];
  /** Whether some folders were not searched. */
  short: boolean;
}

/** Walks the folders until it has enough matches. Only the exclude callback can stop it between matches. */
async function walkFiles(folder: string, pattern: string, signal: AbortSignal): Promise<Walk> {
  const found: Walk = { paths: [], short: false };
  const end = performance.now() + walkMsMax;
  const skipped = skippedBelow(folder);
  let visited = 0;
  const entries = walk(pattern, {
    cwd: folder,
    withFileTypes: true,
    exclude: ({ name }) => {
      visited += 1;
      found.short ||= visited > visitedMax || performance.now() > end || signal.aborted;
      return found.short || skipped.includes(name);
    },
  });
  for await (const entry of entries) {
    if (entry.isDirectory()) continue;
    if (found.paths.length === filesFoundMax) found.short = true;
    if (found.short) break;
    found.paths.push(join(entry.parentPath, entry.name));
  }
  return found;
}

/** Leaves out files to which a link in the glob leads, or `..`. */
async function onlyWithin(paths: readonly string[], folder: string): Promise<string[]> {
  const parents = [...new Set(paths.map((path) => dirname(path)))];
  const allowed = new Set<string>();
  for (const parent of parents) {
    const real = await realpath(parent).catch(() => '');
    if (isWithin(real, folder)) allowed.add(parent);
  }
  return paths.filter((path) => allowed.has(dirname(path)));
}

async function newestFirst(paths: readonly string[]): Promise<string[]> {
  const aged: { path: string; at: number }[] = [];
  for (let from = 0; from < paths.length; from += statsAtOnce) {
    const some = paths.slice(from, from + statsAtOnce).map(async (path) => {
      const stats = await stat(path).catch(() => undefined);
      return { path, at: stats?.mtimeMs ?? 0 };
    });
    aged.push(...(await Promise.all(some)));
  }
  return aged.sort((a, b) => b.at - a.at || (a.path < b.path ? -1 : 1)).map(({ path }) => path);
}

async function findFiles(input: Static<typeof FilesInput>, use: ToolUse): Promise<ToolResult> {
  checkGlob(input.glob);
  const folder = await pathToSearch(input.path, use, true);
  const pattern = input.glob.includes('/') ? input.glob : `**/${input.glob}`;
  const found = await walkFiles(folder, pattern, use.signal);
  if (use.signal.aborted) throw new ToolFailure('Stopped by the user.');
  const paths = use.within === undefined ? found.paths : await onlyWithin(found.paths, use.within);
  const newest = await newestFirst(paths);
  const { text, whole } = fit(
    newest.map((path) => shownPath(path, use)),
    filesShownMax,
  );
  const notes = [
    ...(whole
      ? []
      : [`[${newest.length} files were found; the newest are shown: give a narrower glob or path]`]),
    ...(found.short ? ['[not all folders were searched: give a narrower path]'] : []),
  ];
  return { text: [newest.length === 0 ? 'No file is found.' : text, ...notes].join('\n') };
}

/** `search_text` and `find_files`. */
export function createSearchTools({ env }: { readonly env: Environment }): readonly Tool[] {
  const inPath = (given: string | undefined) => (given === undefined ? '' : ` in ${given}`);
  const textTool = defineTool({
    name: 'search_text',
    description:
      'Searches files for a regular expression: file, line number and line of each match. Binary files, .git and node_modules are left out.',
    input: TextInput,
    kind: 'search',
    isParallel: true,
    title: ({ pattern, path }) => `Search ${pattern}${inPath(path)}`,
    run: (input, use) => failing(() => searchText(input, use, env)),
  });
  const filesTool = defineTool({
    name: 'find_files',
    description:
      'Finds files by a glob, the newest first. A glob without a slash is looked for in all folders. Hidden folders are searched only where the glob names them; .git and node_modules never.',
    input: FilesInput,
    kind: 'search',
    isParallel: true,
    title: ({ glob, path }) => `Find ${glob}${inPath(path)}`,
    run: (input, use) => failing(() => findFiles(input, use)),
  });
  return [textTool, filesTool];
}
