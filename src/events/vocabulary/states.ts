// The states of the agent, and the answers of the user to approval requests.
import Type from 'typebox';
import { oneOf } from '../../validation/schema.ts';
import { agentStates, answeredStates, decisions } from '../decoder/words.ts';
import { action, Cause, observation, ToolCallId } from './fields.ts';

export const ChangeAgentStateAction = action(
  'change_agent_state',
  { agent_state: oneOf(answeredStates), decision: oneOf(decisions) },
  {},
  { $id: 'ChangeAgentStateAction', description: 'The user answers an approval request.' },
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
