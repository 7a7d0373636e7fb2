// What a log says about its agent: whether it works, waits for its user, or has stopped.
import type { ParleyEvent } from './types.ts';

export interface AgentState {
  /**
   * As the log says it: `awaiting_user_input`, `awaiting_user_confirmation`, `stopped` … `working` where the user has
   * just answered.
   */
  readonly name: string;
  /** Whether something was said that the agent was not given yet. */
  readonly unheard: boolean;
  /** The action that needs approval, while it does. */
  readonly question: ParleyEvent | undefined;
}

export const unknownState: AgentState = { name: 'unknown', unheard: false, question: undefined };

const needsApproval = 'awaiting_user_confirmation';
/** A paused conversation has stopped, too; the other name is for older clients. */
const ended: ReadonlySet<string> = new Set(['stopped', 'paused']);

function isQuestion({ type, ...event }: ParleyEvent): boolean {
  if (type === 'unknown' || !('args' in event)) return false;
  return 'confirmation_state' in event.args && event.args.confirmation_state === 'awaiting_confirmation';
}

/** The state after one more event. The action that needs approval may come before or after the state. */
export function nextState(state: AgentState, event: ParleyEvent): AgentState {
  if (event.source === 'user' && event.type === 'action.message') return { ...state, unheard: true };
  if (event.source === 'user' && event.type === 'action.change_agent_state')
    return { ...state, name: 'working', question: undefined };
  if (isQuestion(event)) return { ...state, question: event };
  if (event.type !== 'observation.agent_state_changed') return state;
  const { agent_state: name } = event.extras;
  const unheard = state.unheard && name !== 'running' && !ended.has(name);
  return { name, unheard, question: name === needsApproval ? state.question : undefined };
}

/** Whether it cannot be told from what was seen so far what the agent does, or what it asks for. */
export function isUnclear({ name, question }: AgentState): boolean {
  return name === unknownState.name || (name === needsApproval && question === undefined);
}

/** Whether it does nothing before its user does something. */
export function waitsForUser({ name, unheard, question }: AgentState): boolean {
  if (ended.has(name)) return true;
  if (name === needsApproval) return question !== undefined;
  return name === 'awaiting_user_input' && !unheard;
}
