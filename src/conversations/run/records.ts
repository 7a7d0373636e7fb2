// What a run tells the store about itself.
import type { EventText } from '../../events/store.ts';
import type { StopReason } from '../states.ts';

/** A conversation and the id of the run that owns it. */
export interface Run {
  readonly key: number;
  readonly runId: string;
}

export interface Renewal extends Run {
  readonly leaseMs: number;
}

/** `lost`: another process may own it now. `stop`: the run still owns it and must end. */
export type Renewed = 'kept' | 'stop' | 'lost';

/** The progress of a run. */
export interface RunProgress {
  /** Recorded only if the conversation has no agent yet. */
  readonly agent?: string;
  readonly agent_session?: string;
  readonly always_allowed?: string;
  readonly workspace_node?: string;
  readonly workspace_volume?: string | null;
  readonly heard?: number;
  readonly turn_open?: 0 | 1;
  readonly turn_from?: number | null;
  readonly session_from?: number | null;
  /** No approval request is open any more. */
  readonly question?: null;
  /** The run makes progress, so the count of failed claims starts again. */
  readonly claims?: 0;
}

export interface RunRecord extends Run {
  /** Counts from 1 in each run. A step that was recorded already is not recorded again. */
  readonly step: number;
  readonly events: readonly EventText[];
  /** The index in `events` of an approval request that waits for the user. */
  readonly approvalRequestIndex?: number | undefined;
  /** The turn has ended by itself, and its user is told unless there is another message. */
  readonly waitsForAnswer?: boolean | undefined;
  /** Record this even if the user has stopped the conversation meanwhile. */
  readonly isFinal?: boolean | undefined;
  readonly progress?: RunProgress | undefined;
  /** The events answer one command of the user. */
  readonly commandEnded?: boolean | undefined;
  /** The new status, if it changes. */
  readonly to?: 'RUNNING' | 'STOPPED' | undefined;
  readonly reason?: StopReason | undefined;
  /** What the run does while it starts. */
  readonly runtimeStatus?: string | undefined;
  readonly at: string;
}

/** The id of the first event; undefined if the run no longer owns the conversation or must end. */
export type Recorded = number | undefined;
