// Resolves the names of a repository to commits without git, because git would read the repository's configuration.
import { readBeginning, readContained } from './contained.ts';

const referenceBytesMax = 4_096;
const packedBytesMax = 16 * 1_024 * 1_024;
const hopsMax = 5;

const hash = /^[0-9a-f]{40}$/;
const ofOrigin = 'refs/remotes/origin/';

export interface References {
  /** The commit that is checked out; undefined before the first one. */
  readonly head: string | undefined;
  /** The last known commit of origin for the current branch. */
  readonly origin: string | undefined;
  /** Where the work began: at the cloned commit, or in an empty repository; undefined if that is no longer known. */
  readonly start: Start | undefined;
  /** The workspace as it was when the agent began, if changes of the user came with it. */
  readonly started: string | undefined;
}

type Start = { readonly commit: string } | 'empty';

/** Reads the first entry of HEAD's reflog. Git deletes entries after some months. */
function readStart(gitDir: string): Start | undefined {
  const text = readBeginning(gitDir, 'logs/HEAD', referenceBytesMax)?.toString() ?? '';
  const [, commit = '', how = ''] = /^0{40} ([0-9a-f]{40}) [^\t\n]*\t(.*)/.exec(text) ?? [];
  if (how.startsWith('clone:')) return { commit };
  return how.startsWith('commit (initial)') ? 'empty' : undefined;
}

function readPacked(gitDir: string): ReadonlyMap<string, string> {
  const text = readContained(gitDir, 'packed-refs', packedBytesMax)?.toString() ?? '';
  const lines = text.matchAll(/^([0-9a-f]{40}) (refs\/.+)$/gm);
  return new Map([...lines].map(([, commit = '', name = '']) => [name, commit]));
}

/** `gitDir` must be a real path. */
export function readReferences(gitDir: string): References {
  const packed = readPacked(gitDir);
  const read = (name: string) => readContained(gitDir, name, referenceBytesMax)?.toString().trim();
  const targetOf = (text: string | undefined) => /^ref: (refs\/.+)$/.exec(text ?? '')?.[1];

  function resolve(name: string): string | undefined {
    let at = name;
    for (let hop = 0; hop < hopsMax; hop++) {
      const text = read(at) ?? packed.get(at);
      if (text !== undefined && hash.test(text)) return text;
      const target = targetOf(text);
      if (target === undefined) return undefined;
      at = target;
    }
    return undefined;
  }

  /** The branch that was cloned, if it was only one. */
  function onlyOne(): string | undefined {
    const names = [...packed.keys()].filter((name) => name.startsWith(ofOrigin));
    return names.length === 1 ? resolve(names[0] ?? '') : undefined;
  }

  const [, branch] = /^refs\/heads\/(.+)$/.exec(targetOf(read('HEAD')) ?? '') ?? [];
  const ofBranch = branch === undefined ? undefined : resolve(ofOrigin + branch);
  const origin = ofBranch ?? resolve(`${ofOrigin}HEAD`) ?? onlyOne();
  const started = resolve('refs/parley/start');
  return { head: resolve('HEAD'), origin, start: readStart(gitDir), started };
}
