// Reads the files that instruct agents: those of the repository, and its microagents.
import { join } from 'node:path';
import { kindOf, locate, readBeginning } from './contained.ts';
import type { InstructionFile } from './request.ts';
import { entriesOf } from './tree.ts';

const folder = '.openhands/microagents';
const standing = ['AGENTS.md', '.openhands_instructions'];
const filesMax = 50;
/** A folder with more entries is not read to its end. */
const entriesMax = 1_000;
const fileBytesMax = 32_768;

function microagentPaths(root: string): string[] {
  const real = locate(root, folder);
  if (real === undefined || kindOf(real) !== 'folder') return [];
  const names: string[] = [];
  let looked = 0;
  for (const { name } of entriesOf<string>(real, 'utf8')) {
    looked += 1;
    if (looked > entriesMax) break;
    if (name.endsWith('.md')) names.push(name);
  }
  return names
    .sort()
    .slice(0, filesMax)
    .map((name) => join(folder, name));
}

/** Leaves out what cannot be read, and links that lead out. */
export function readInstructions(root: string): InstructionFile[] {
  return [...standing, ...microagentPaths(root)].flatMap((path) => {
    const bytes = readBeginning(root, path, fileBytesMax);
    return bytes === undefined ? [] : [{ path, text: bytes.toString() }];
  });
}
