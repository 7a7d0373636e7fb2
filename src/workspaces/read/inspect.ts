// Runs one inspection of a workspace: a program in a sandbox, to its end, and its reply.

import { gaveUp } from '../../process/gate.ts';
import type { OpenSandbox } from '../../sandbox/openSandbox.ts';
import { type RunOutcome, runToEnd } from '../../sandbox/runToEnd.ts';
import { answerBytesMax, inspectionMsMax } from './bounds.ts';
import type { Inspection, InspectionBounds, InspectionReply } from './inside/request.ts';
import { inspectionInput, inspectionProgram } from './program.ts';
import { refuse, tooSlow } from './refusals.ts';

const bounded: Readonly<Record<NonNullable<RunOutcome['bound']>, () => Error>> = {
  time: () => tooSlow(inspectionMsMax),
  output: () => refuse('too_large'),
  aborted: gaveUp,
};

/** Its error output may contain anything of the workspace, so only its exit is reported. */
export function failed(what: { readonly code: number | null; readonly signal: string | null }): Error {
  return new Error(`the program that looks at workspaces ended with ${what.code ?? what.signal}`);
}

export function readReply(text: string): unknown {
  const reply = JSON.parse(text) as InspectionReply;
  if ('refused' in reply) throw refuse(reply.refused);
  return reply.answer;
}

export async function inspectWorkspace(
  sandbox: OpenSandbox,
  inspection: Inspection,
  bounds: InspectionBounds,
  signal: AbortSignal,
): Promise<unknown> {
  const outcome = await runToEnd(sandbox, inspectionProgram, {
    timeoutMs: inspectionMsMax,
    outputBytesMax: answerBytesMax,
    input: inspectionInput(inspection, bounds),
    signal,
  });
  if (outcome.bound !== undefined) throw bounded[outcome.bound]();
  if (outcome.code !== 0) throw failed(outcome);
  return readReply(outcome.stdout.toString());
}
