// The states of the agent, and how the user changes them.
import Type from 'typebox';
import { oneOf } from '../../validation/schema.ts';
import { agentStates, decisions, wantedStates } from '../decoder/words.ts';
import { action, Cause, observation, ToolCallId } from './fields.ts';

export const ChangeAgentStateAction = action(
  'change_agent_state',
  {
    agent_state: oneOf(wantedStates),
    decision: Type.Optional(
      oneOf(decisions, { description: 'The answer to an approval request; absent if the user cancels.' }),
    ),
  },
  {},
  {
    $id: 'ChangeAgentStateAction',
    description:
      'The user answers an approval request, or cancels what is before this event (`awaiting_user_input`).',
  },
);

export const AgentStateChangedObservation = observation(
  'agent_state_changed',
  {
    agent_state: oneOf(agentStates),
    reason: Type.String({ description: 'Why it was stopped or paused; otherwise empty.' }),
  },
  {},
  { $id: 'AgentStateChangedObservation', description: 'The state of the agent changed.' },
);

export const UserRejectedObservation = observation(
  'user_rejected',
  {},
  { tool_call_id: ToolCallId, cause: Cause },
  { $id: 'UserRejectedObservation', description: 'The user rejected the action `cause`.' },
);
