// How the programs that take and restore snapshots are started in a sandbox.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '../../process/program.ts';
import type { SandboxProgram } from '../../sandbox/sandbox.ts';

const pathOf = (file: string) => fileURLToPath(programFile(file));
const take = pathOf('workspaces/snapshots/inside/take.ts');
const restore = pathOf('workspaces/snapshots/inside/restore.ts');

/** The files that the sandbox must be able to read. From the sources, the programs share code with inspections. */
export const snapshotReadable: readonly string[] = [
  process.execPath,
  dirname(take),
  dirname(pathOf('workspaces/read/inside/inspect.ts')),
];

export const takeProgram: SandboxProgram = { argv: [process.execPath, take], env: {}, offline: true };

/** Fetches what the clone lacks, if it has an `env` for Git. */
export function restoreProgram(env: Readonly<Record<string, string>>, offline: boolean): SandboxProgram {
  return { argv: [process.execPath, restore], env, offline };
}
