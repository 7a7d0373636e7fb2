// The rows of a new conversation, before they are stored, and what can become of them.
import { changeText } from '../../events/changes/shape.ts';
import type { EventText } from '../../events/store.ts';
import type { IdempotencyClaim } from '../idempotency/store.ts';
import type { ConversationStatus } from '../states.ts';

export interface NewConversation {
  readonly userId: number;
  readonly id: string;
  readonly fingerprint: string;
  readonly title: string;
  readonly trigger: string;
  readonly repository: string | null;
  readonly branch: string | null;
  readonly gitProvider: string | null;
  readonly agent: string | null;
  readonly llmModel: string | null;
  /** 1 or 0; null means what the settings say. */
  readonly confirmationMode: number | null;
  readonly clientFolder: string | null;
  /** The patch that the workspace starts with, in Base64. */
  readonly patch: string | null;
  readonly request: string;
  readonly sealed: string | null;
  readonly events: readonly EventText[];
  /** How many of the first events are replayed. */
  readonly replayed: number;
  /** The event id that follows the first message; 0 if there is no message. */
  readonly said: number;
  /** The time of creation, as text for the log. */
  readonly at: string;
  readonly idempotency: IdempotencyClaim | null;
  /** The span of the request; null unless traces are recorded. */
  readonly traceparent: string | null;
  /** How many conversations of the user may wait for a worker; 0 means no limit. */
  readonly waitingMax: number;
}

/** What an earlier request has created, or that it was a different one. */
export type FoundOutcome =
  | { readonly outcome: 'existing'; readonly id: string; readonly status: ConversationStatus }
  | { readonly outcome: 'id_taken' }
  | { readonly outcome: 'key_reused' };

export type StoredOutcome = FoundOutcome | { readonly outcome: 'created'; readonly key: number };

/**
 * Nothing was stored with the last two. `too_many_waiting`: the limit of the user is reached. `stale_seal`: the encryption
 * key was rotated meanwhile; encrypt again and repeat.
 */
export type CreateOutcome =
  | StoredOutcome
  | { readonly outcome: 'too_many_waiting' }
  | { readonly outcome: 'stale_seal' };

/** The change that the creation is for the subscribers of its user. */
export function creationChange({ id, title, at, events }: NewConversation): string {
  return changeText({
    conversation_id: id,
    status: 'STARTING',
    agent_state: null,
    title,
    stop_reason: null,
    at,
    pinned: false,
    archived: false,
    unread: events.length > 0,
  });
}
