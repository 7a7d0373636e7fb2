// The interface between a worker and a run, which records through it.

import type { ClaimedConversation } from '../conversations/run/claimStore.ts';
import type { RunProgress } from '../conversations/run/records.ts';
import type { StopReason } from '../conversations/states.ts';
import type { EventText } from '../events/store.ts';
import type { UserEvent } from './prompts/inbox.ts';

export interface RunStep {
  readonly events?: readonly EventText[];
  readonly to?: 'RUNNING' | 'STOPPED';
  readonly reason?: StopReason;
  readonly runtimeStatus?: string;
  readonly progress?: RunProgress;
  /** The events answer one command of the user. */
  readonly commandEnded?: boolean;
  /** The index in `events` of an approval request that waits for the user. */
  readonly approvalRequestIndex?: number;
  /** The turn has ended by itself, and its user is told unless there is another message. */
  readonly waitsForAnswer?: boolean;
  /** The last events of a stopped agent. They are sent once and recorded although the conversation is STOPPED. */
  readonly isFinal?: boolean;
}

/** What the worker gives to a run. */
export interface ClaimedRun {
  readonly runId: string;
  readonly conversation: ClaimedConversation;
  /** Aborted with an `EndCause`: whatever the run started must die now. */
  readonly signal: AbortSignal;
  /** Must be checked right before anything that only the owner of the conversation may do. */
  isHeld(): boolean;
  /**
   * Records a step exactly once. If the database does not answer, it retries until the run must end. Steps must not
   * overlap. Returns the id of the first event; a negative number if that is no longer known and the step has no
   * approval request; undefined if the run no longer owns the conversation, and its signal is or will be aborted.
   */
  record(step: RunStep): Promise<number | undefined>;
  /** Calls back for each event of the user that the agent was not given yet, in order. */
  listen(onEvent: (event: UserEvent) => void): Promise<void>;
}

/** Runs an agent to its end. Settles only when nothing that it started is alive. */
export type RunAgent = (context: ClaimedRun) => Promise<void>;
