// Brings a new workspace into the state of the user's local folder: the commit that it is based on, and a patch with the
// changes. The result is also kept as refs/parley/start, so that later the agent's own changes can be told apart.
import { type RunOutcome, runToEnd } from '../../sandbox/runToEnd.ts';
import { mib } from '../../validation/schema.ts';
import { type CloneFault, type GitContext, parseState, stateScript, type WorkspaceState } from './clone.ts';
import { strictGitEnvironment } from './gitEnvironment.ts';

/** Changes that a workspace starts with. */
export interface StartingPatch {
  /** The commit that the patch is against; null for the head of the branch, or an empty workspace. */
  readonly baseCommit: string | null;
  /** As `git diff --binary` writes it. It may be empty. */
  readonly patch: Buffer;
}

/** What was applied, for the log. */
export interface AppliedPatch {
  readonly files: number;
  readonly baseCommit: string | null;
}

const outputBytesMax = mib;
const applyMs = 2 * 60_000;
const shownCharsMax = 300;
const shownCommitChars = 12;
const exits = { noCommit: 3, doesNotApply: 4 } as const;

/** Nothing stays staged: the changes are uncommitted and unstaged, and new files untracked, as most users have them. */
const script = `
base=$1; hasPatch=$2
if [ -n "$base" ]; then
  git cat-file -e "$base^{commit}" 2>/dev/null || git fetch --quiet origin "$base" || exit ${exits.noCommit}
  git reset --quiet --hard "$base" || exit
fi
if [ -n "$hasPatch" ]; then
  git apply --index --whitespace=nowarn - || exit ${exits.doesNotApply}
fi
if git rev-parse --quiet --verify HEAD >/dev/null; then
  parent='-p HEAD'; git diff-index --cached --name-only HEAD | sed 's/^/changed /'
else
  parent=''; git ls-files | sed 's/^/changed /'
fi
start=$(git commit-tree $parent -m 'The local folder at the start' "$(git write-tree)") || exit
git update-ref refs/parley/start "$start" || exit
if [ -n "$parent" ]; then git reset --quiet; else git read-tree --empty; fi || exit
${stateScript}`;

/** Git's errors name files of the user's own patch. */
function errorsOf({ stderr }: RunOutcome): string {
  const lines = stderr.toString().split('\n');
  const errors = lines.filter((line) => line.startsWith('error: ')).map((line) => line.slice(7));
  return errors
    .join('; ')
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, shownCharsMax);
}

function faultOf(outcome: RunOutcome, { baseCommit }: StartingPatch): string {
  const commit = baseCommit?.slice(0, shownCommitChars) ?? '';
  const kept = 'Your local folder still has the changes, and the next start tries again.';
  if (outcome.bound === 'aborted') return 'The conversation was stopped while its workspace was prepared.';
  if (outcome.code === exits.noCommit)
    return `The repository does not have the commit ${commit} that your local folder is based on. Push it, or run "git fetch" and start a new conversation. ${kept}`;
  const where = commit === '' ? 'the selected branch' : `the commit ${commit}`;
  if (outcome.code === exits.doesNotApply)
    return `The changes of your local folder do not apply to ${where}: ${errorsOf(outcome)}. ${kept}`;
  const why = outcome.bound === 'time' ? `it took longer than ${applyMs / 1_000} s` : errorsOf(outcome);
  return `The changes of your local folder could not be applied${why === '' ? '' : `: ${why}`}. ${kept}`;
}

/** Expects a new clone or an empty repository. */
export async function applyPatch(
  { sandbox, remote, identity, signal }: GitContext,
  starting: StartingPatch,
): Promise<(WorkspaceState & { readonly applied: AppliedPatch }) | CloneFault> {
  const { baseCommit, patch } = starting;
  if (baseCommit !== null && remote === undefined)
    return { fault: 'The changes of your local folder are based on a commit, but no repository was given.' };
  const program = {
    argv: ['sh', '-c', script, 'sh', baseCommit ?? '', patch.length === 0 ? '' : 'yes'],
    env: strictGitEnvironment({ bridge: sandbox.bridge, remote, identity }),
    offline: remote === undefined,
    limitAddressSpace: true,
  } as const;
  const bounds = { timeoutMs: applyMs, outputBytesMax, signal, input: patch };
  const outcome = await runToEnd(sandbox, program, bounds);
  if (outcome.code !== 0 || outcome.bound !== undefined) return { fault: faultOf(outcome, starting) };
  const files = outcome.stdout.toString().match(/^changed /gm)?.length ?? 0;
  return { ...parseState(outcome.stdout), applied: { files, baseCommit } };
}

/** A sentence for the log. */
export function appliedText({ files, baseCommit }: AppliedPatch): string {
  const where = baseCommit === null ? '' : ` on the commit ${baseCommit.slice(0, shownCommitChars)}`;
  if (files === 0) return `The workspace starts${where}, as your local folder is.`;
  const count = files === 1 ? '1 changed file' : `${files} changed files`;
  return `The workspace starts with the changes of your local folder: ${count}${where}.`;
}
