// The states of a conversation as data: which transitions are allowed, and every reason to stop.

export const conversationStatuses = ['STARTING', 'RUNNING', 'STOPPED'] as const;
export type ConversationStatus = (typeof conversationStatuses)[number];

interface Transition {
  readonly from: ConversationStatus | null;
  readonly to: ConversationStatus;
  readonly when: string;
}

export const transitions: readonly Transition[] = [
  { from: null, to: 'STARTING', when: 'it is created; it may wait for a free worker' },
  { from: null, to: 'STOPPED', when: 'it is imported, or forked without a message' },
  { from: 'STARTING', to: 'RUNNING', when: "the agent's session is open" },
  { from: 'STARTING', to: 'STOPPED', when: 'its user stops it, it fails, or its deadline passes' },
  {
    from: 'RUNNING',
    to: 'STOPPED',
    when: 'its user stops it, it is idle, a limit is reached, the agent fails',
  },
  { from: 'STOPPED', to: 'STARTING', when: 'it is started again, or gets a message' },
];

export function mayFollow(from: ConversationStatus, to: ConversationStatus): boolean {
  return transitions.some((t) => t.from === from && t.to === to);
}

/** The state of the agent in a running conversation, as in the log. */
export const agentStates = ['running', 'awaiting_user_input', 'awaiting_user_confirmation'] as const;
export type AgentState = (typeof agentStates)[number];

interface StoredProgress {
  readonly status: string | null;
  readonly turn_open: number;
  readonly question: number | null;
  /** One more than the id of the last user message. */
  readonly said: number;
  /** The agent was given the user messages below this id. */
  readonly heard: number;
}

/** Null unless the conversation is RUNNING. */
export function agentStateOf(progress: StoredProgress): AgentState | null {
  const { status, turn_open, question, said, heard } = progress;
  if (status !== 'RUNNING') return null;
  if (question !== null) return 'awaiting_user_confirmation';
  // A message that the agent was not given yet is work to do, before its first turn and between two turns.
  return turn_open === 0 && said <= heard ? 'awaiting_user_input' : 'running';
}

/** Why a conversation stopped, with the message for people. */
export const stopReasons = {
  user: 'You stopped the conversation.',
  finished: 'The agent has finished, and nobody follows the conversation. Send a message to resume it.',
  idle: 'The conversation was idle. Send a message to resume it.',
  max_iterations:
    'The conversation reached the maximum number of model requests per message (max_iterations). Send a message to resume it.',
  max_budget: 'The conversation reached its maximum cost (max_budget_per_task). Raise the limit to continue.',
  user_budget: 'Your budget for models is used up. An administrator can raise it.',
  agent_error: 'The agent failed.',
  agent_missing: 'The agent is not installed.',
  no_sandbox: 'There is no sandbox to run the agent in.',
  workspace_error: 'The workspace could not be prepared.',
  start_timeout: 'The conversation did not start in time.',
  unconfirmed_action: 'The agent acted without approval, although confirmation_mode is on.',
  user_inactive: 'The user of the conversation was disabled or removed.',
  shutdown: 'The server was shut down.',
  forked: 'The conversation was forked. Send a message to continue it.',
  imported: 'The conversation was imported. Send a message to resume it.',
} as const;
export type StopCode = keyof typeof stopReasons;
export const stopCodes = Object.keys(stopReasons) as StopCode[];

export interface StopReason {
  readonly code: StopCode;
  readonly message: string;
}

export function stopReason(code: StopCode, message: string = stopReasons[code]): StopReason {
  return { code, message };
}

interface StoredReason {
  readonly stop_code: string | null;
  readonly stop_sentence: string | null;
}

/** The stored reason; null unless the conversation is stopped. */
export function reasonOf({ stop_code, stop_sentence }: StoredReason): StopReason | null {
  return stop_code === null ? null : { code: stop_code as StopCode, message: stop_sentence ?? '' };
}
