// Builds the observation for an action whose run ended before the result was recorded.
import type { DecodedAction } from './decoded.ts';
import type { NewObservation } from './vocabulary/vocabulary.ts';

/** The content of an observation if the call was interrupted before it had any output. */
export const unfinishedContent = 'It did not finish.';

/** Stands for the exit code of a command if it is unknown. */
export const unknownExitCode = -1;

/** The actions of tools: each is followed by an observation. */
export type ToolAction = Extract<DecodedAction, { readonly tool_call_id: string }>;

const outcome = 'unfinished' as const;

function resultOf(event: ToolAction) {
  switch (event.type) {
    case 'action.run': {
      const metadata = { exit_code: unknownExitCode };
      return { observation: 'run', extras: { command: event.args.command, metadata, outcome } } as const;
    }
    case 'action.edit': {
      const { path, operation, diff = '' } = event.args;
      return { observation: 'edit', extras: { path, operation, diff, outcome } } as const;
    }
    case 'action.read':
      return { observation: 'read', extras: { path: event.args.path, outcome } } as const;
    case 'action.browse':
      return { observation: 'browse', extras: { url: event.args.url, outcome } } as const;
    case 'action.call_tool_mcp': {
      const { name, kind, arguments: given } = event.args;
      const about = { name, ...(kind === undefined ? {} : { kind }), arguments: given };
      return { observation: 'mcp', extras: { ...about, outcome } } as const;
    }
  }
}

export function unfinishedObservation(event: ToolAction): NewObservation {
  return {
    source: event.source,
    message: '',
    ...resultOf(event),
    content: unfinishedContent,
    tool_call_id: event.tool_call_id,
    cause: event.id,
  };
}
