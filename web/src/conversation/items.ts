// The items of a timeline. An item combines the events that belong together.

export type Outcome = 'completed' | 'failed' | 'unfinished';

/** The answer to an approval request. `closed`: it is no longer pending, and nobody answered. */
export type Answer = 'open' | 'allow' | 'allow_always' | 'reject' | 'closed';

export interface ApprovalRequest {
  /** The id of the event that contains the request. */
  readonly event: number;
  /** The action in one line. */
  readonly summary: string;
  /** 0 reads, 1 edits, 2 may do anything. */
  readonly risk: number;
  readonly answer: Answer;
}

export interface Call {
  readonly tool: 'run' | 'edit' | 'read' | 'browse' | 'tool';
  /** The command, path, URL or tool name. */
  readonly subject: string;
  /** In the agent's own words. */
  readonly title: string;
  readonly operation: string;
  readonly input: string;
  readonly diff: string;
  /** What else the approval request contains. */
  readonly approvalDetails: string;
  /** Undefined while the call is running. */
  readonly outcome: Outcome | undefined;
  /** When the call began or was approved. */
  readonly since: string | undefined;
  readonly output: string;
  readonly exitCode: number | undefined;
  readonly createsFile: boolean;
  readonly approval: ApprovalRequest | undefined;
}

export interface Task {
  readonly title: string;
  readonly status: 'todo' | 'in_progress' | 'done';
}

interface Common {
  /** The id of its first event. */
  readonly id: number;
  readonly at: string | undefined;
  readonly replayed: boolean;
  /** Identifies a text from its first partial until it is in the log, so that it is not rendered anew. */
  readonly key?: string;
  /** The text is still being written. */
  readonly isUnfinished?: boolean;
}

export const keyOf = ({ key, id }: Common): string | number => key ?? id;

export type Item = Common &
  (
    | {
        readonly kind: 'message';
        readonly from: 'user' | 'agent';
        readonly text: string;
        readonly images: readonly string[];
        /** The paths of attached files. */
        readonly files: readonly string[];
        /** The agent gets the message after its current turn. */
        readonly isQueued: boolean;
      }
    | { readonly kind: 'thought'; readonly text: string }
    | {
        readonly kind: 'call';
        readonly call: Call;
        /** The id of the event that ended it. */
        readonly endId?: number;
      }
    | { readonly kind: 'plan'; readonly tasks: readonly Task[] }
    | { readonly kind: 'notice' | 'error' | 'stopped'; readonly text: string }
  );

export type CallItem = Extract<Item, { kind: 'call' }>;

/** The state of the agent as a whole. */
export interface LogState {
  readonly agentState: string;
  /** The pending approval request. */
  readonly approval: ApprovalRequest | undefined;
  readonly tasks: readonly Task[];
  readonly context: { readonly used: number; readonly size: number } | undefined;
}
