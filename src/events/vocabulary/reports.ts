// Notices, errors, usage and other updates of the agent.
import Type from 'typebox';
import { Cause, observation, only } from './fields.ts';

export const NoticeObservation = observation(
  'notice',
  { notice_id: Type.Optional(Type.String({ description: 'For programs, such as `INTERRUPTED`.' })) },
  { cause: Cause },
  { $id: 'NoticeObservation', description: 'Information that is not an error.' },
);

export const ErrorObservation = observation(
  'error',
  { error_id: Type.String({ description: 'For programs, such as `AGENT_ERROR`.' }) },
  {},
  { $id: 'ErrorObservation', description: 'An error, as a sentence for people in `content`.' },
);

const NumberOrNull = Type.Unsafe<number | null>({ type: ['number', 'null'] });

export const UsageObservation = observation(
  'usage',
  {
    used: NumberOrNull,
    size: NumberOrNull,
    cost: Type.Union([Type.Object({ amount: Type.Number(), currency: Type.String() }, only), Type.Null()]),
  },
  {},
  { $id: 'UsageObservation', description: 'How much of its context the agent uses, as it reports it.' },
);

export const AgentUpdateObservation = observation(
  'agent_update',
  { update: Type.Unknown() },
  {},
  { $id: 'AgentUpdateObservation', description: 'Any other update of the agent, as it sent it.' },
);

export const WorkspaceRemovedObservation = observation(
  'workspace_removed',
  {},
  {},
  { $id: 'WorkspaceRemovedObservation', description: 'The workspace was removed because it was not used.' },
);
