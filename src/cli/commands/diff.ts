// `parley diff`: what a conversation has changed in its files.
import { type GitChange, type Parley, ParleyError } from '../../client/parley.ts';
import { plainLine, plainText } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { getConversation } from '../connection/conversationId.ts';
import type { diffCommand } from '../declarations/conversations.ts';
import { exits } from '../exits.ts';
import { filePatch } from '../patch.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { colourDiff } from '../terminal/timeline.ts';

interface FileDiff {
  readonly status: GitChange['status'];
  readonly path: string;
  /** Null if the file cannot be compared, such as a binary file. */
  readonly original: string | null;
  readonly modified: string | null;
  /** Why it cannot be compared. */
  readonly left_out?: string;
}

/** Errors that concern only one file. */
const ofOneFile: ReadonlySet<string> = new Set(['binary_file', 'answer_too_large', 'not_found']);

async function readDiff(parley: Parley, id: string, { status, path }: GitChange): Promise<FileDiff> {
  try {
    return { status, path, ...(await parley.workspace.diff(id, path)) };
  } catch (error) {
    if (!(error instanceof ParleyError && ofOneFile.has(error.code))) throw error;
    return { status, path, original: null, modified: null, left_out: error.message };
  }
}

function showName(change: GitChange, output: Output): void {
  if (output.isJson) output.json(change);
  else if (output.isLive) output.text(`${plainLine(change.status)} ${plainLine(change.path)}\n`);
  else process.stdout.write(`${change.status} ${change.path}\n`);
}

function showDiff(diff: FileDiff, output: Output): void {
  const { status, path, original, modified, left_out } = diff;
  const name = plainLine(path);
  if (left_out !== undefined) output.note(`${name} is left out: ${plainLine(left_out)}\n`);
  if (output.isJson) output.json(diff);
  if (output.isJson || left_out !== undefined) return;
  const patch = filePatch({ path, status, original: original ?? '', modified: modified ?? '' });
  if (patch === '') output.note(`The text of ${name} has not changed; perhaps its mode has.\n`);
  if (output.isLive) output.text(colourDiff(plainText(patch), output.style));
  else process.stdout.write(patch);
}

function isIn(path: string, wanted: readonly string[]): boolean {
  if (wanted.length === 0) return true;
  return wanted.some((name) => path === name || path.startsWith(`${name.replace(/\/+$/, '')}/`));
}

/** A terminal gets colours; a pipe gets the exact bytes, which `git apply` needs. */
export const diff: Handler<typeof diffCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, args.id);
  const changes = (await parley.workspace.changes(id)).filter(({ path }) => isIn(path, args.path));
  if (changes.length === 0 && output.isLive) output.note('No changes yet.\n');
  let isComplete = true;
  for (const change of changes) {
    if (options.names) showName(change, output);
    else {
      const fileDiff = await readDiff(parley, id, change);
      if (fileDiff.left_out !== undefined) isComplete = false;
      showDiff(fileDiff, output);
    }
  }
  return isComplete ? exits.done : exits.failed;
};
