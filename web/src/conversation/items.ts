// What a timeline shows: the events of a log, put together to things that a person would call one.

export type Outcome = 'completed' | 'failed' | 'unfinished';

/** How a question of the agent was answered. `closed`: it no longer waits, and nobody answered. */
export type Answer = 'open' | 'allow' | 'allow_always' | 'reject' | 'closed';

export interface Question {
  /** The event that asks. */
  readonly event: number;
  /** What it would do, in a line. */
  readonly about: string;
  /** 0 reads, 1 edits, 2 may do anything. */
  readonly risk: number;
  readonly answer: Answer;
}

export interface Call {
  readonly tool: 'run' | 'edit' | 'read' | 'browse' | 'tool';
  /** The command, path, address or name of what is used. */
  readonly subject: string;
  /** In the agent's own words. */
  readonly title: string;
  readonly operation: string;
  readonly input: string;
  readonly diff: string;
  /** What else the agent told, where it asks for approval. */
  readonly request: string;
  /** Undefined while it goes on. */
  readonly outcome: Outcome | undefined;
  /** When it began, or was allowed to. */
  readonly since: string | undefined;
  readonly output: string;
  readonly exitCode: number | undefined;
  readonly createsFile: boolean;
  readonly question: Question | undefined;
}

export interface Task {
  readonly title: string;
  readonly status: 'todo' | 'in_progress' | 'done';
}

interface Common {
  /** That of the first of its events. */
  readonly id: number;
  readonly at: string | undefined;
  readonly replayed: boolean;
}

export type Item = Common &
  (
    | {
        readonly kind: 'message';
        readonly from: 'user' | 'agent';
        readonly text: string;
        readonly images: readonly string[];
        /** The agent is at something else, and is given it afterwards. */
        readonly waits: boolean;
      }
    | { readonly kind: 'thought'; readonly text: string }
    | { readonly kind: 'call'; readonly call: Call }
    | { readonly kind: 'plan'; readonly tasks: readonly Task[] }
    | { readonly kind: 'notice' | 'error' | 'stopped'; readonly text: string }
  );

export type CallItem = Extract<Item, { kind: 'call' }>;

/** What the log says of the agent as a whole. */
export interface LogState {
  readonly agentState: string;
  /** The one that waits for an answer. */
  readonly question: Question | undefined;
  readonly tasks: readonly Task[];
  readonly context: { readonly used: number; readonly size: number } | undefined;
}
