// Which options of Git apply to a folder: all of the user's, but of the repository's own only those that are data and
// cannot make git run a program, read another folder or send a request.

/** A value is undefined if the option is only named, which means true. */
export interface ConfigEntry {
  readonly scope: string;
  readonly key: string;
  readonly value: string | undefined;
}

interface Formats {
  readonly objectFormat: string;
  readonly refStorage: string;
}

/** Keys and values are bytes; this encoding maps each byte to a character. */
const byteText = 'latin1';

const trustedScopes: ReadonlySet<string> = new Set(['system', 'global', 'command']);
/** What describes a repository, or was resolved already. */
const replaced =
  /^(core\.(bare|worktree|repositoryformatversion)|extensions\..*|include\..*|includeif\..*)$/s;
const dataKeys = [
  /^core\.(filemode|symlinks|ignorecase|precomposeunicode|protecthfs|protectntfs|autocrlf|eol)$/,
  /^core\.(excludesfile|sparsecheckout|sparsecheckoutcone|trustctime|checkstat)$/,
  /^remote\..+\.(url|fetch)$/s,
  /^branch\..+\.(remote|merge)$/s,
  /^url\..+\.insteadof$/s,
  /^user\.(name|email)$/,
];
/** What `git lfs install --local` writes: a program that the user has installed. */
const lfsFilter: Readonly<Record<string, string>> = {
  'filter.lfs.clean': 'git-lfs clean -- %f',
  'filter.lfs.smudge': 'git-lfs smudge -- %f',
  'filter.lfs.process': 'git-lfs filter-process',
  'filter.lfs.required': 'true',
};

/** Parses the output of `git config --null --show-scope --list`. */
export function parseConfig(output: Buffer): ConfigEntry[] {
  const parts = output.toString(byteText).split('\0').slice(0, -1);
  return parts.flatMap((scope, i) => {
    if (i % 2 === 1) return [];
    const [, key = '', value] = /^([^\n]*)(?:\n(.*))?$/s.exec(parts[i + 1] ?? '') ?? [];
    return [{ scope, key, value }];
  });
}

function isUsable({ scope, key, value }: ConfigEntry): boolean {
  if (replaced.test(key)) return false;
  if (trustedScopes.has(scope)) return true;
  return dataKeys.some((form) => form.test(key)) || (value !== undefined && lfsFilter[key] === value);
}

/** Options that change how git reads the repository itself. Git has checked them when it listed the others. */
function formatsOf(entries: readonly ConfigEntry[]): Formats {
  const local = entries.filter(({ scope }) => scope === 'local');
  const find = (key: string) => local.findLast((entry) => entry.key === key)?.value?.toLowerCase();
  return {
    objectFormat: find('extensions.objectformat') === 'sha256' ? 'sha256' : 'sha1',
    refStorage: find('extensions.refstorage') === 'reftable' ? 'reftable' : 'files',
  };
}

export function usableEntries(
  all: readonly ConfigEntry[],
  { withFilters }: { readonly withFilters: boolean },
): { readonly entries: ConfigEntry[]; readonly formats: Formats } {
  const entries = all.filter((entry) => isUsable(entry) && (withFilters || !entry.key.startsWith('filter.')));
  return { entries, formats: formatsOf(all) };
}

function escaped(text: string): string {
  return text.replaceAll(/[\\"]/g, '\\$&');
}

function lineOf({ key, value }: ConfigEntry): string {
  const [, section = '', subsection, name = ''] = /^([^.]+)(?:\.(.*))?\.([^.]+)$/s.exec(key) ?? [];
  const head = subsection === undefined ? `[${section}]` : `[${section} "${escaped(subsection)}"]`;
  return `${head}\n${name}${value === undefined ? '' : ` = "${escaped(value).replaceAll('\n', '\\n')}"`}\n`;
}

/** A configuration file with these entries, in byte text. */
export function configText(entries: readonly ConfigEntry[], { objectFormat, refStorage }: Formats): string {
  const extensions = [
    ...(objectFormat === 'sha1' ? [] : [`objectFormat = ${objectFormat}`]),
    ...(refStorage === 'files' ? [] : [`refStorage = ${refStorage}`]),
  ];
  const version = extensions.length === 0 ? 0 : 1;
  const core = ['[core]', `repositoryformatversion = ${version}`, 'bare = false'];
  return `${[...core, ...(version === 0 ? [] : ['[extensions]', ...extensions])].join('\n')}\n${entries.map(lineOf).join('')}`;
}
