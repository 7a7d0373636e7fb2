// `parley diff`: what a conversation has changed in its files.
import { parseArgs } from 'node:util';
import { type GitChange, type Parley, ParleyError } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { getConversation } from '../conversationId.ts';
import { connectionHelp, exitHelp, exits } from '../exits.ts';
import { filePatch } from '../patch.ts';
import { createOutput, type Output, outputOptions } from '../terminal/output.ts';
import { plainLine, plainText } from '../terminal/plainText.ts';
import { colourDiff } from '../terminal/timeline.ts';

const help = `Usage: ${commandName} diff ID [PATH]… [--names] [--json|--text]

Shows what a conversation has changed in its files against the commit at which its branch left origin. What is no
terminal gets the same as "git apply" takes it; with --json it is a line for each file, before and after. A file that
cannot be compared, because it is no text or too large, is left out: that is said, and the exit code is 1.

  PATH     only this file, or those in this folder
  --names  only the names

${connectionHelp}
${exitHelp}
Example: ${commandName} diff 01a1dd > changes.patch
`;

interface FileDiff {
  readonly status: GitChange['status'];
  readonly path: string;
  /** Null where it cannot be compared, as what is no text. */
  readonly original: string | null;
  readonly modified: string | null;
  /** Why not. */
  readonly left_out?: string;
}

/** Faults of one file that say nothing of the others. */
const ofOneFile: ReadonlySet<string> = new Set(['binary_file', 'answer_too_large', 'not_found']);

async function readDiff(parley: Parley, id: string, { status, path }: GitChange): Promise<FileDiff> {
  try {
    return { status, path, ...(await parley.workspace.diff(id, path)) };
  } catch (error) {
    if (!(error instanceof ParleyError && ofOneFile.has(error.code))) throw error;
    return { status, path, original: null, modified: null, left_out: error.message };
  }
}

interface Reader {
  readonly isForPeople: boolean;
  readonly output: Output;
}

function showName(change: GitChange, { isForPeople, output }: Reader): void {
  if (output.isJson) output.json(change);
  else if (isForPeople) output.text(`${plainLine(change.status)} ${plainLine(change.path)}\n`);
  else process.stdout.write(`${change.status} ${change.path}\n`);
}

function show(diff: FileDiff, { isForPeople, output }: Reader): void {
  const { status, path, original, modified, left_out } = diff;
  const name = plainLine(path);
  if (left_out !== undefined) output.note(`${name} is left out: ${plainLine(left_out)}\n`);
  if (output.isJson) output.json(diff);
  if (output.isJson || left_out !== undefined) return;
  const patch = filePatch({ path, status, original: original ?? '', modified: modified ?? '' });
  if (patch === '') output.note(`${name} has the same text as before; perhaps its mode has changed.\n`);
  if (isForPeople) output.text(colourDiff(plainText(patch), output.style));
  else process.stdout.write(patch);
}

function isIn(path: string, wanted: readonly string[]): boolean {
  if (wanted.length === 0) return true;
  return wanted.some((place) => path === place || path.startsWith(`${place.replace(/\/+$/, '')}/`));
}

async function run(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { ...outputOptions, names: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [typed, ...paths] = positionals;
  if (values.json && values.text) throw new RefusalError('Say --json or --text, not both.');
  const output = createOutput({ json: values.json, text: !values.json });
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, typed);
  const changes = (await parley.workspace.changes(id)).filter(({ path }) => isIn(path, paths));
  const isForPeople = values.text || output.isLive;
  if (changes.length === 0 && output.isLive) output.note('Nothing has changed.\n');
  let isWhole = true;
  for (const change of changes) {
    if (values.names) showName(change, { isForPeople, output });
    else {
      const diff = await readDiff(parley, id, change);
      if (diff.left_out !== undefined) isWhole = false;
      show(diff, { isForPeople, output });
    }
  }
  return isWhole ? exits.done : exits.failed;
}

export const diff: Command = { help, run };
