// The rows of a fork, before they are stored, and what can become of them.
import type { EventText } from '../../events/store.ts';
import type { StoredOutcome } from '../create/newConversation.ts';
import type { IdempotencyClaim } from '../idempotency/store.ts';
import type { TurnFiles } from './source.ts';

export interface NewFork {
  readonly userId: number;
  readonly keyId: string;
  readonly id: string;
  readonly fingerprint: string;
  readonly idempotency: IdempotencyClaim | null;
  /** The reserved number under which the events were copied. */
  readonly key: number;
  readonly source: { readonly key: number; readonly id: string };
  /** The last event that was copied. */
  readonly eventId: number;
  readonly title: string;
  readonly trigger: string;
  readonly repository: string | null;
  readonly branch: string | null;
  readonly gitProvider: string | null;
  readonly agent: string | null;
  readonly llmModel: string | null;
  readonly confirmationMode: number | null;
  readonly clientFolder: string | null;
  readonly request: string;
  readonly sealed: string | null;
  /** Null if it starts with a new workspace. */
  readonly files: (TurnFiles & { readonly id: string; readonly sealed: string }) | null;
  /** What follows the copied events. */
  readonly events: readonly EventText[];
  /** The index of the message in `events`; null if there is none, so that the fork is stopped. */
  readonly message: number | null;
  readonly at: string;
  readonly traceparent: string | null;
  readonly waitingMax: number;
}

/**
 * Nothing was stored unless the fork was created or exists. `source_gone`: it was deleted meanwhile. `no_snapshot`: the
 * files were removed meanwhile. `discarded`: the copy took so long that it counted as abandoned.
 */
export type ForkOutcome =
  | StoredOutcome
  | { readonly outcome: 'too_many_waiting' }
  | { readonly outcome: 'stale_seal' }
  | { readonly outcome: 'source_gone' }
  | { readonly outcome: 'no_snapshot' }
  | { readonly outcome: 'discarded' };
