// `parley diff`: what a conversation has changed in its files.
import { parseArgs } from 'node:util';
import { type GitChange, type Parley, ParleyError } from '../client/parley.ts';
import { RefusalError } from '../errors.ts';
import type { Command } from './command.ts';
import { connect } from './connection.ts';
import { getConversation } from './conversationId.ts';
import { connectionHelp, exitHelp, exits } from './exits.ts';
import { unifiedDiff } from './lineDiff.ts';
import { createOutput, outputOptions } from './output.ts';
import { plainLine, plainText } from './plainText.ts';
import { colourDiff } from './timeline.ts';

const help = `Usage: parley diff ID [PATH]… [--names] [--json|--text]

Shows what a conversation has changed in its files against the commit at which its branch left origin. What is no
terminal gets the same as "git apply" takes it; with --json it is a line for each file, before and after.

  PATH     only this file, or those in this folder
  --names  only the names

${connectionHelp}
${exitHelp}
Example: parley diff 01a1dd > changes.patch
`;

interface FileDiff {
  readonly status: GitChange['status'];
  readonly path: string;
  readonly original: string | null;
  readonly modified: string | null;
}

/** Null on both sides where it is not text. */
async function readDiff(parley: Parley, id: string, { status, path }: GitChange): Promise<FileDiff> {
  try {
    return { status, path, ...(await parley.workspace.diff(id, path)) };
  } catch (error) {
    const known = error instanceof ParleyError && ['binary_file', 'answer_too_large'].includes(error.code);
    if (!known) throw error;
    return { status, path, original: null, modified: null };
  }
}

function diffText({ path, status, original, modified }: FileDiff): string {
  if (original === null || modified === null) return `Binary file ${path} differs\n`;
  return unifiedDiff({ path, status, original, modified });
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
  const people = values.text || output.isLive;
  for (const change of changes) {
    if (values.names) {
      if (output.isJson) output.json(change);
      else output.text(`${change.status} ${people ? plainLine(change.path) : change.path}\n`);
      continue;
    }
    const diff = await readDiff(parley, id, change);
    if (output.isJson) output.json(diff);
    else if (people) output.text(colourDiff(plainText(diffText(diff)), output.style));
    else output.text(diffText(diff));
  }
  if (changes.length === 0 && output.isLive) output.note('Nothing has changed.\n');
  return exits.done;
}

export const diff: Command = { help, run };
