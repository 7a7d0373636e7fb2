// The program that looks at a workspace, as it is started in a sandbox.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '../../process/program.ts';
import type { SandboxProgram } from '../../sandbox/sandbox.ts';
import type { Look, LookBounds, LookRequest } from './inside/request.ts';

const file = fileURLToPath(programFile('workspaces/read/inside/look.ts'));

/** What a sandbox in which workspaces are looked at must be able to read. */
export const lookReadable: readonly string[] = [process.execPath, dirname(file)];

export const lookLaunch: SandboxProgram = { argv: [process.execPath, file], env: {} };

export function lookInput(look: Look, bounds: LookBounds): string {
  return JSON.stringify({ ...look, bounds } satisfies LookRequest);
}
