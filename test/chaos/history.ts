// What happened in a chaos run: the driver writes it down, and the checker reads nothing else. Plain data, so that a
// test can write a bad history by hand.

/** `unknown`: no answer came, or one that leaves open whether it happened. */
export type Outcome = 'ok' | 'fail' | 'unknown';

export type Detail =
  | {
      readonly kind: 'create';
      /** In the first message; the same in every repetition of the request. */
      readonly token: string;
      readonly id: string | null;
      readonly idempotencyKey: string | null;
      /** The id in the answer. */
      answered: string | null;
    }
  | {
      readonly kind: 'message';
      readonly conversation: string;
      /** In the message; the same in every repetition of the request. */
      readonly token: string;
      /** The id of its event, which the answer has. */
      answered: number | null;
    }
  | { readonly kind: 'stop' | 'cancel' | 'delete'; readonly conversation: string }
  | {
      readonly kind: 'write-setting';
      readonly field: string;
      /** Written by this operation alone. */
      readonly value: string;
      /** The version that If-Match named. */
      readonly base: number | null;
      /** Of the record in the answer, where it holds one. */
      version: number | null;
      seen: string | null;
    }
  | { readonly kind: 'read-settings'; version: number; values: Readonly<Record<string, string | null>> }
  | {
      readonly kind: 'write-secret';
      readonly name: string;
      readonly description: string;
      readonly how: 'create' | 'update';
    }
  | { readonly kind: 'delete-secret'; readonly name: string }
  | { readonly kind: 'read-secrets'; secrets: Readonly<Record<string, string>> }
  /** A user asks for the conversation of another. */
  | { readonly kind: 'peek'; readonly conversation: string; found: boolean };

/** When and where an operation was sent, and what became of it. */
export interface Performed {
  readonly n: number;
  readonly user: string;
  readonly process: string;
  readonly invokedMs: number;
  readonly endedMs: number;
  readonly outcome: Outcome;
  readonly status: number | null;
  readonly code: string | null;
  /** Users whose data was in the answer. */
  readonly owners: readonly string[];
}

export type Operation = Detail & Performed;

export type OperationOf<Kind extends Detail['kind']> = Operation & { readonly kind: Kind };

export interface Fault {
  readonly name: string;
  readonly target: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Exit {
  readonly process: string;
  readonly atMs: number;
  readonly code: number | null;
  readonly signal: string | null;
  /** What the driver did to end it; undefined: nobody did anything. */
  readonly cause: string | undefined;
  readonly lastWords: string;
}

export interface StreamFrame {
  readonly id: string | undefined;
  readonly event: string;
  readonly text: string;
}

/** All that one subscriber saw, over all of its connections. */
export interface StreamView {
  readonly user: string;
  /** Undefined: the changes of all conversations of the user. */
  readonly conversation: string | undefined;
  readonly connections: number;
  readonly frames: readonly StreamFrame[];
}

export interface Arrival {
  readonly user: string;
  readonly id: string;
  readonly text: string;
}

export interface FinalEvent {
  readonly id: number;
  readonly text: string;
}

export interface FinalConversation {
  readonly user: string;
  readonly key: number;
  readonly id: string;
  readonly status: string;
  readonly stopCode: string | null;
  readonly runId: string | null;
  readonly turnOpen: boolean;
  readonly heard: number;
  readonly nextEvent: number;
  readonly events: readonly FinalEvent[];
}

export interface FinalUser {
  readonly name: string;
  readonly version: number;
  readonly settings: Readonly<Record<string, string | null>>;
  readonly secrets: Readonly<Record<string, string>>;
  /** Whether its conversations have an agent that can be started. */
  readonly hasAgent: boolean;
}

/** A line that the fake agent wrote; the time is that of a clock that all processes share and nobody sets. */
export interface AgentLine {
  readonly agent: string;
  readonly atNs: string;
  readonly kind: 'start' | 'beat' | 'prompt';
  readonly text?: string;
}

export interface Workspace {
  readonly user: string;
  readonly conversation: string;
  readonly lines: readonly AgentLine[];
}

export interface History {
  readonly database: 'sqlite' | 'postgres';
  readonly operations: readonly Operation[];
  readonly faults: readonly Fault[];
  readonly exits: readonly Exit[];
  readonly streams: readonly StreamView[];
  readonly arrivals: readonly Arrival[];
  readonly users: readonly FinalUser[];
  readonly conversations: readonly FinalConversation[];
  readonly workspaces: readonly Workspace[];
  /** Rows that belong to no conversation. */
  readonly strays: number;
  /** Webhook messages that were due too late, or given up. */
  readonly overdueDeliveries: readonly string[];
  /** Processes that were still there after everything had been stopped. */
  readonly leftBehind: readonly string[];
}

const ownerPattern = /\bowner-([a-z]+)-canary\b/g;

/** Marks text as data of a user, wherever it turns up. */
export function canaryOf(user: string): string {
  return `owner-${user}-canary`;
}

/** The users whose mark is in the text. */
export function ownersIn(text: string): string[] {
  return [...new Set([...text.matchAll(ownerPattern)].map(([, user = '']) => user))];
}
