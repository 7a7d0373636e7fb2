// How a tool gives up from deep inside: the sentence is for the model, and says what to do instead.
import type { ToolResult } from './tool.ts';

export class ToolFailure extends Error {}

/** Makes a result of a `ToolFailure`; whatever else is thrown is a bug. */
export async function failing(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ToolFailure) return { text: error.message, failed: true };
    throw error;
  }
}
