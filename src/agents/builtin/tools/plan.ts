// The tool with which the model shows its plan and progress to the user.
import Type, { type Static } from 'typebox';
import { defineTool, type Tool } from './tool.ts';

const entriesMax = 50;
const contentCharsMax = 500;

const PlanInput = Type.Object({
  entries: Type.Array(
    Type.Object({
      content: Type.String({ minLength: 1, maxLength: contentCharsMax }),
      status: Type.Union([Type.Literal('pending'), Type.Literal('in_progress'), Type.Literal('completed')]),
    }),
    { maxItems: entriesMax, description: 'All of the plan, in order: it replaces the one before.' },
  ),
});

export type PlanEntry = Static<typeof PlanInput>['entries'][number];

/** `update_plan`. Each update contains the whole plan. */
export function createPlanTool(onPlan: (entries: readonly PlanEntry[]) => void): Tool {
  return defineTool({
    name: 'update_plan',
    description:
      'Shows the user your plan for work of several steps. Give all entries each time, one of them in_progress, and mark each as completed once it is done. Not for small tasks.',
    input: PlanInput,
    kind: 'think',
    title: () => 'Update the plan',
    run: async ({ entries }) => {
      onPlan(entries);
      const left = entries.filter(({ status }) => status !== 'completed').length;
      return { text: `The plan is shown: ${entries.length} entries, ${left} not completed.` };
    },
  });
}
