// How the program that writes uploaded files is started in a sandbox.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '../../process/program.ts';
import type { SandboxProgram } from '../../sandbox/sandbox.ts';

const file = fileURLToPath(programFile('workspaces/write/inside/write.ts'));

/** The files that the sandbox must be able to read. */
export const writeReadable: readonly string[] = [process.execPath, dirname(file)];

export const writeProgram: SandboxProgram = { argv: [process.execPath, file], env: {}, offline: true };
