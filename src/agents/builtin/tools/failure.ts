// The error of a tool. Its message is for the model and says what to do instead.
import type { ToolResult } from './tool.ts';

export class ToolFailure extends Error {}

/** Converts a `ToolFailure` to a result. Any other error is a bug. */
export async function failing(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ToolFailure) return { text: error.message, failed: true };
    throw error;
  }
}
