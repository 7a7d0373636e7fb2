// All the tools of the built-in agent.
import type { Environment } from './command.ts';
import { createCommandTools } from './commands.ts';
import { createFetchTool } from './fetchPage.ts';
import { createFileTools } from './files.ts';
import { createPlanTool, type PlanEntry } from './plan.ts';
import { createSearchTools } from './search.ts';
import type { Tool } from './tool.ts';

export interface Toolbox {
  readonly tools: readonly Tool[];
  /** Ends everything that the tools have started. Never rejects. */
  close(): Promise<void>;
}

interface ToolboxOptions {
  /** The environment of commands. */
  readonly env: Environment;
  readonly onPlan: (entries: readonly PlanEntry[]) => void;
}

export function createToolbox({ env, onPlan }: ToolboxOptions): Toolbox {
  const commands = createCommandTools({ env });
  return {
    tools: [
      ...commands.tools,
      ...createFileTools(),
      ...createSearchTools({ env }),
      createFetchTool(),
      createPlanTool(onPlan),
    ],
    close: commands.close,
  };
}
