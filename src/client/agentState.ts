// What a log tells of its agent: whether it works, waits for its user, or has stopped.
import type { ParleyEvent } from './types.ts';

export interface AgentState {
  /**
   * As the log says it: `awaiting_user_input`, `awaiting_user_confirmation`, `stopped` … `working` where the user has
   * just answered.
   */
  readonly name: string;
  /** Whether something was said that the agent was not given yet. */
  readonly unheard: boolean;
  /** What the agent asks permission for, while it does. */
  readonly question: ParleyEvent | undefined;
}

export const unknownState: AgentState = { name: 'unknown', unheard: false, question: undefined };

/** The state after one more event. */
export function nextState(state: AgentState, event: ParleyEvent): AgentState {
  if (event.source === 'user' && event.action === 'message') return { ...state, unheard: true };
  if (event.source === 'user' && event.action === 'change_agent_state')
    return { ...state, name: 'working', question: undefined };
  if (event.args?.['confirmation_state'] === 'awaiting_confirmation') return { ...state, question: event };
  if (event.observation !== 'agent_state_changed') return state;
  const said = event.extras?.['agent_state'];
  const name = typeof said === 'string' ? said : unknownState.name;
  const unheard = state.unheard && name !== 'running' && name !== 'stopped';
  return { name, unheard, question: name === 'awaiting_user_confirmation' ? state.question : undefined };
}

/** Whether it does nothing before its user does something. */
export function waitsForUser({ name, unheard }: AgentState): boolean {
  if (name === 'awaiting_user_confirmation' || name === 'stopped') return true;
  return name === 'awaiting_user_input' && !unheard;
}
