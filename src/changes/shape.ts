// A change as followers and webhooks read it.
import type { ConversationStatus, StopReason } from '../lifecycle/states.ts';

export interface Change {
  readonly conversation_id: string;
  /** Null: it was deleted. */
  readonly status: ConversationStatus | null;
  readonly title: string;
  readonly stop_reason: StopReason | null;
  readonly at: string;
}

export function changeText({ conversation_id, status, title, stop_reason, at }: Change): string {
  return JSON.stringify({ conversation_id, status, title, stop_reason, at });
}
