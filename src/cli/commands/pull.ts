// `parley pull`: brings the work of a conversation into a local repository.
import type { ConversationInfo, Parley } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { isBranchName } from '../../git/remote.ts';
import { plainLine, shellWord } from '../../text/plainText.ts';
import type { Handler, Parsed } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { getConversation } from '../connection/conversationId.ts';
import type { pullCommand } from '../declarations/conversations.ts';
import { exits } from '../exits.ts';
import { type FolderLocation, locateFolder } from '../folders/folderLocation.ts';
import type { Git } from '../folders/localGit.ts';
import { getCommit, pullBranch } from '../folders/pullBranch.ts';
import { pullChanges } from '../folders/pullChanges.ts';
import { listNames, type PulledPatch, readPulledPatch } from '../folders/pulledPatch.ts';
import { withUntrustedGit } from '../folders/untrustedGit.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { ask, canAsk } from '../terminal/prompt.ts';

const shortIdChars = 8;

interface Pull {
  readonly options: Parsed<typeof pullCommand>['options'];
  readonly output: Output;
  readonly parley: Parley;
  readonly info: ConversationInfo;
  readonly git: Git;
  readonly location: FolderLocation;
}

/** The start of the id, as far as it may be in the name of a branch. */
function shortName({ conversation_id: id }: ConversationInfo): string {
  return (
    id
      .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
      .slice(0, shortIdChars)
      .replace(/^-+/, '') || 'conversation'
  );
}

async function readPatch({ parley, info, git }: Pull, from: 'base' | 'start'): Promise<PulledPatch> {
  return readPulledPatch(git, await parley.workspace.patch(info.conversation_id, from));
}

function noteLeftOut({ output }: Pull, { leftOut }: PulledPatch): void {
  if (leftOut.length > 0)
    output.note(
      `Left out, because Git or another system would take these names for other files: ${listNames(leftOut)}.\n`,
    );
}

function countOf({ paths }: PulledPatch): string {
  return paths.length === 1 ? '1 changed file' : `${paths.length} changed files`;
}

function nothing({ output, info }: Pull): number {
  if (output.isJson) output.json({ conversation_id: info.conversation_id, files: 0 });
  else output.note('No changes yet.\n');
  return exits.done;
}

async function toBranch(pull: Pull): Promise<number> {
  const { options, output, info, git, location } = pull;
  if (typeof location.repository === 'string')
    throw new RefusalError(`${location.repository} Use --apply, or name a repository with --folder.`);
  const name = options.branch ?? `parley/${shortName(info)}`;
  if (!isBranchName(name)) throw new RefusalError('The name of the branch is not valid in Git.');
  const since = await readPatch(pull, 'base');
  // A conversation without a base commit began with a copy of the files, so that only later changes are of interest.
  const patch = since.base === undefined ? await readPatch(pull, 'start') : since;
  noteLeftOut(pull, patch);
  if (patch.paths.length === 0) return nothing(pull);
  const title = plainLine(info.title ?? '') || 'Changes of an agent';
  const message = `${title}\n\nParley-Conversation: ${info.conversation_id}\n`;
  const { branch, isNew } = await pullBranch({ git, patch, name, message });
  if (output.isJson) {
    output.json({ conversation_id: info.conversation_id, branch, files: patch.paths.length, created: isNew });
    return exits.done;
  }
  const done = isNew ? `Created the branch ${branch} with` : `The branch ${branch} already has`;
  output.text(`${done} ${countOf(patch)}.\n`);
  if (patch.guarded.length > 0)
    output.note(
      `Review these files before you check it out, because programs on your machine act on them by themselves: ${listNames(patch.guarded)}.\n`,
    );
  output.note(output.style('dim', `git diff ...${shellWord(branch)}\ngit switch ${shellWord(branch)}\n`));
  return exits.done;
}

/** Prints the reasons, and asks the person at the terminal, if there is one. */
async function confirmPull({ options, output }: Pull, reasons: readonly string[]): Promise<boolean> {
  for (const reason of reasons) output.note(`${reason}\n`);
  if (options.force) return true;
  if (output.isJson || !canAsk()) {
    output.note(
      'Nothing was changed. Commit or stash your changes, leave out --apply to get a branch, or use --force.\n',
    );
    return false;
  }
  return /^y(es)?$/i.test((await ask('Apply the changes nevertheless? [y/N] ')).trim());
}

async function toWorkingTree(pull: Pull): Promise<number> {
  const { output, info, git, location } = pull;
  const hasRepository = typeof location.repository !== 'string';
  const patch = await readPatch(pull, 'start');
  noteLeftOut(pull, patch);
  if (patch.paths.length === 0) return nothing(pull);
  if (hasRepository && patch.base !== undefined) await getCommit(git, patch.base);
  const pulled = await pullChanges({
    git,
    patch,
    top: location.root,
    hasRepository,
    mayGoOn: (reasons) => confirmPull(pull, reasons),
    backupRef: `refs/parley/before-${shortName(info)}`,
  });
  if (pulled.outcome === 'refused') return exits.failed;
  if (pulled.outcome === 'present') {
    if (output.isJson) output.json({ conversation_id: info.conversation_id, files: 0 });
    else output.note('All changes of the conversation are in this folder already.\n');
    return exits.done;
  }
  const { backup } = pulled;
  if (output.isJson)
    output.json({
      conversation_id: info.conversation_id,
      files: patch.paths.length,
      ...(backup && { backup }),
    });
  else output.text(`Applied ${countOf(patch)} to the working tree.\n`);
  if (backup !== undefined)
    output.note(`Your files as they were before: git restore --source=${backup} -- FILE\n`);
  return exits.done;
}

export const pull: Handler<typeof pullCommand> = async ({ args, options }) => {
  if (options.apply && options.branch !== undefined)
    throw new RefusalError('--branch names a new branch, and --apply creates none; leave out one of them.');
  const output = createOutput(options);
  const parley = connect();
  const info = await getConversation(parley, args.id);
  const location = await locateFolder(options.folder ?? '.');
  return withUntrustedGit(location, async (git) => {
    const pull = { options, output, parley, info, git, location };
    return options.apply ? toWorkingTree(pull) : toBranch(pull);
  });
};
