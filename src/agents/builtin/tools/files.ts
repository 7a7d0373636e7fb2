// The tools that read and change files.
import type { Stats } from 'node:fs';
import Type, { type Static } from 'typebox';
import { applyEdit, listLines } from './editText.ts';
import { failing, ToolFailure } from './failure.ts';
import { changedBytesMax, findStats, pathCharsMax, readWhole } from './fileText.ts';
import { createReadTool } from './readFile.ts';
import { resolveForRequest, resolvePath } from './resolvedPath.ts';
import { defineTool, type FileChange, type Tool, type ToolResult, type ToolUse } from './tool.ts';
import { writeText } from './writeFile.ts';

const path = Type.String({ minLength: 1, maxLength: pathCharsMax });

const WriteInput = Type.Object({
  path,
  content: Type.String({ maxLength: changedBytesMax, description: 'All of the file.' }),
});

const EditInput = Type.Object({
  path,
  old_text: Type.String({
    maxLength: changedBytesMax,
    description: 'Exactly as it is in the file, white space too, without line numbers.',
  }),
  new_text: Type.String({ maxLength: changedBytesMax }),
  replace_all: Type.Optional(Type.Boolean({ description: 'Wherever old_text is found. Default false.' })),
});

/** A prepared change. */
interface Planned {
  readonly change: FileChange;
  /** The file to write. */
  readonly target: string;
  readonly shown: string;
  readonly old: Stats | undefined;
  /** The result for the model. */
  readonly done: string;
}

type Plan<Input> = (input: Input, use: ToolUse) => Promise<Planned>;

function countLines(text: string): string {
  const count = text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return count === 1 ? '1 line' : `${count} lines`;
}

function checkSize(text: string, shown: string): void {
  if (Buffer.byteLength(text) > changedBytesMax)
    throw new ToolFailure(`${shown} would get larger than ${changedBytesMax} bytes. Use bash for that.`);
}

async function planWrite(input: Static<typeof WriteInput>, use: ToolUse): Promise<Planned> {
  const { path: target, named, shown } = await resolvePath(input.path, use);
  checkSize(input.content, shown);
  const old = await findStats(target, `Writing ${shown}`);
  const oldText = old === undefined ? null : await readWhole(target, shown, old);
  const done = `${oldText === null ? 'Made' : 'Wrote'} ${shown}: ${countLines(input.content)}.`;
  return { change: { path: named, oldText, newText: input.content }, target, shown, old, done };
}

async function planEdit(input: Static<typeof EditInput>, use: ToolUse): Promise<Planned> {
  const { path: target, named, shown } = await resolvePath(input.path, use);
  const old = await findStats(target, `Editing ${shown}`);
  if (old === undefined)
    throw new ToolFailure(`There is no ${shown}. Look for it with find_files, or make it with write_file.`);
  const oldText = await readWhole(target, shown, old);
  const edit = { oldText: input.old_text, newText: input.new_text, replaceAll: input.replace_all ?? false };
  const { text, lines } = applyEdit(oldText, edit, shown);
  checkSize(text, shown);
  const places = lines.length === 1 ? 'one place' : `${lines.length} places`;
  const done = `Edited ${shown} in ${places}: ${listLines(lines)}.`;
  return { change: { path: named, oldText, newText: text }, target, shown, old, done };
}

async function previewOf<Input>(plan: Plan<Input>, input: Input, use: ToolUse) {
  try {
    return (await plan(input, use)).change;
  } catch {
    return undefined;
  }
}

/** Makes one change at a time, because one of two concurrent edits of a file would be lost. */
function createOneByOne() {
  let last: Promise<unknown> = Promise.resolve();
  return <Value>(work: () => Promise<Value>): Promise<Value> => {
    const done = last.then(work, work);
    last = done;
    return done;
  };
}

/** `read_file`, `write_file` and `edit_file`. */
export function createFileTools(): readonly Tool[] {
  const oneByOne = createOneByOne();

  function make<Input>(plan: Plan<Input>, input: Input, use: ToolUse): Promise<ToolResult> {
    return failing(() =>
      oneByOne(async () => {
        const { change, target, shown, old, done } = await plan(input, use);
        if (use.signal.aborted) throw new ToolFailure('Nothing was changed: stopped by the user.');
        await writeText(target, shown, change.newText, old);
        return { text: done, change };
      }),
    );
  }

  const write = defineTool({
    name: 'write_file',
    description:
      'Writes a file as a whole, and makes the folders above it. To change a part of a file, use edit_file.',
    input: WriteInput,
    kind: 'edit',
    title: (input, path = input.path) => `Write ${path}`,
    path: (input) => input.path,
    resolve: (input, use) => resolveForRequest(input.path, use),
    preview: (input, use) => previewOf(planWrite, input, use),
    run: (input, use) => make(planWrite, input, use),
  });

  const edit = defineTool({
    name: 'edit_file',
    description:
      'Replaces a text in a file. old_text must be found exactly once, unless replace_all is set: take in lines around it until it is the only one. Read the file first.',
    input: EditInput,
    kind: 'edit',
    title: (input, path = input.path) => `Edit ${path}`,
    path: (input) => input.path,
    resolve: (input, use) => resolveForRequest(input.path, use),
    preview: (input, use) => previewOf(planEdit, input, use),
    run: (input, use) => make(planEdit, input, use),
  });

  return [createReadTool(), write, edit];
}
