// What stands between a worker and what it runs: a run is given this, and records through it.

import type { ClaimedConversation } from '../conversations/run/claimStore.ts';
import type { RunProgress } from '../conversations/run/store.ts';
import type { StopReason } from '../conversations/states.ts';
import type { EventText } from '../events/store.ts';
import type { UserEvent } from './prompts/inbox.ts';

export interface RunStep {
  readonly events?: readonly EventText[];
  readonly to?: 'RUNNING' | 'STOPPED';
  readonly reason?: StopReason;
  readonly runtimeStatus?: string;
  readonly progress?: RunProgress;
  /** The place in `events` of a question that waits for the user's answer. */
  readonly approvalRequestIndex?: number;
  /** The last events of a stopped agent. They are sent once and recorded although the conversation is STOPPED. */
  readonly isFinal?: boolean;
}

/** What a run has to work with. */
export interface ClaimedRun {
  readonly runId: string;
  readonly conversation: ClaimedConversation;
  /** Aborted with an `EndCause`: whatever the run started must die now. */
  readonly signal: AbortSignal;
  /** Must be checked right before anything that only the owner of the conversation may do. */
  isHeld(): boolean;
  /**
   * Records a step, once: where the database does not answer it tries again until the run must end. Steps must not
   * overlap. Returns the id of its first event; undefined: the run no longer counts, and its signal is or will be
   * aborted.
   */
  record(step: RunStep): Promise<number | undefined>;
  /** From now on, each event of the user that the agent was not given yet, in order. */
  listen(onEvent: (event: UserEvent) => void): Promise<void>;
}

/** Runs an agent to its end. Settles only when nothing that it started is alive. */
export type RunAgent = (context: ClaimedRun) => Promise<void>;
