// Derives the state of an agent from its log: whether it works, waits for its user, or has stopped.
import type { ParleyEvent } from './types.ts';

export interface AgentState {
  /**
   * The state in the log, such as `awaiting_user_input`, `awaiting_user_confirmation` or `stopped`; `working` if the
   * user has just answered or cancelled.
   */
  readonly name: string;
  /** Whether the user has sent a message that the agent has not received yet. */
  readonly unheard: boolean;
  /** The action that needs approval, if the agent waits for one. */
  readonly question: ParleyEvent | undefined;
}

export const unknownState: AgentState = { name: 'unknown', unheard: false, question: undefined };

const needsApproval = 'awaiting_user_confirmation';
/** Both mean that the conversation has stopped. Older clients know `paused` only. */
const ended: ReadonlySet<string> = new Set(['stopped', 'paused']);

function isApprovalRequest({ type, ...event }: ParleyEvent): boolean {
  if (type === 'unknown' || !('args' in event)) return false;
  return 'confirmation_state' in event.args && event.args.confirmation_state === 'awaiting_confirmation';
}

/** Returns the state after one more event. The action that needs approval may come before or after the state event. */
export function nextState(state: AgentState, event: ParleyEvent): AgentState {
  if (event.source === 'user' && event.type === 'action.message') return { ...state, unheard: true };
  if (event.source === 'user' && event.type === 'action.change_agent_state') {
    const isCancelled = event.args.agent_state === 'awaiting_user_input';
    return { name: 'working', unheard: state.unheard && !isCancelled, question: undefined };
  }
  if (isApprovalRequest(event)) return { ...state, question: event };
  if (event.type !== 'observation.agent_state_changed') return state;
  const { agent_state: name } = event.extras;
  const unheard = state.unheard && name !== 'running' && !ended.has(name);
  return { name, unheard, question: name === needsApproval ? state.question : undefined };
}

/** Whether the events so far do not show what the agent does, or what needs approval. */
export function isUnclear({ name, question }: AgentState): boolean {
  return name === unknownState.name || (name === needsApproval && question === undefined);
}

/** Whether the agent does nothing until its user does something. */
export function waitsForUser({ name, unheard, question }: AgentState): boolean {
  if (ended.has(name)) return true;
  if (name === needsApproval) return question !== undefined;
  return name === 'awaiting_user_input' && !unheard;
}
