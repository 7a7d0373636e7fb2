// How the program that reads a workspace is started in a sandbox.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '../../process/program.ts';
import type { SandboxProgram } from '../../sandbox/sandbox.ts';
import type { Inspection, InspectionBounds, InspectionRequest } from './inside/request.ts';

const file = fileURLToPath(programFile('workspaces/read/inside/inspect.ts'));

/** The files that the sandbox of an inspection must be able to read. */
export const inspectionReadable: readonly string[] = [process.execPath, dirname(file)];

export const inspectionProgram: SandboxProgram = { argv: [process.execPath, file], env: {} };

export function inspectionInput(inspection: Inspection, bounds: InspectionBounds): string {
  return JSON.stringify({ ...inspection, bounds } satisfies InspectionRequest);
}
