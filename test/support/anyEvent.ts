// Events as tests look into them, whatever their type is.
import type { EventText } from '../../src/events/store.ts';

export interface AnyEvent {
  readonly source: string;
  readonly message: string;
  readonly action?: string;
  readonly observation?: string;
  readonly content?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly extras?: Readonly<Record<string, unknown>>;
  readonly tool_call_id?: string;
  readonly cause?: number;
}

export function anyEvents(events: readonly object[]): AnyEvent[] {
  return events as unknown as AnyEvent[];
}

/** An event as a run records it. `cause` is relative where its action is in the same step. */
export function parseText(event: EventText | undefined): AnyEvent {
  if (event === undefined) throw new Error('there is no such event');
  if (typeof event === 'string') return JSON.parse(event);
  return { ...JSON.parse(event.text), cause: event.answers };
}
