// All the tools of the built-in agent.
import type { Environment } from './command.ts';
import { createCommandTools } from './commands.ts';
import { createFetchTool } from './fetchPage.ts';
import { createFileTools } from './files.ts';
import { createPlanTool, type PlanEntry } from './plan.ts';
import { createReadTool } from './readFile.ts';
import { createSearchTools } from './search.ts';
import type { Tool } from './tool.ts';

export interface Toolbox {
  readonly tools: readonly Tool[];
  /** The tools of a sub-agent, which only read files. */
  readonly readers: readonly Tool[];
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
    readers: [createReadTool(), ...createSearchTools({ env })],
    close: commands.close,
  };
}
