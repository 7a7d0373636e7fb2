// What a start or a message asks for, and what can become of it.
import type { EventText } from '../../events/store.ts';
import type { ConversationName } from '../id.ts';
import type { IdempotencyClaim } from '../idempotency/store.ts';
import type { Moment } from '../row.ts';
import type { ConversationStatus } from '../states.ts';

/** The state of the conversation, and whether its readers must be notified. */
export interface Outcome {
  readonly key: number;
  readonly status: ConversationStatus;
  readonly changed: boolean;
}

export interface Start extends ConversationName, Moment {
  /** Events for the log when it starts again. */
  readonly waking: readonly EventText[];
  /** The message, which is added whether it starts or runs. */
  readonly message: readonly EventText[];
  /** How many conversations of its user may wait for a worker; 0 means no limit. */
  readonly waitingMax: number;
}

export interface Woken extends Outcome {
  /** The id of the message, if there is one. */
  readonly eventId: number;
}

/** Undefined: there is no such conversation. */
export type WakeOutcome = Woken | 'too_many' | undefined;

export interface KeyedMessage extends Start {
  readonly idempotency: IdempotencyClaim;
  readonly fingerprint: string;
}

export type KeyedWakeOutcome = WakeOutcome | 'key_reused';
