// The decoder with the types of the vocabulary, for the server. The client has its own types.
import { decode } from './decoder/decode.ts';
import type { EventSource } from './decoder/words.ts';
import type { Action, Observation } from './vocabulary/vocabulary.ts';

type Typed<Each> = Each extends { readonly action: infer Name extends string }
  ? Each & { readonly type: `action.${Name}` }
  : Each extends { readonly observation: infer Name extends string }
    ? Each & { readonly type: `observation.${Name}` }
    : never;

type Fields = Readonly<Record<string, unknown>>;

/** An event that is not in the vocabulary, written by another program or another version. */
export interface UnknownEvent {
  readonly type: 'unknown';
  readonly id: number;
  readonly timestamp: string;
  readonly source: EventSource;
  readonly message: string;
  readonly action?: string;
  readonly args: Fields;
  readonly observation?: string;
  readonly content: string;
  readonly extras: Fields;
  readonly tool_call_id?: string;
  readonly cause?: number;
  readonly replayed?: boolean;
}

export type DecodedAction = Typed<Action>;
export type DecodedObservation = Typed<Observation>;
export type DecodedEvent = DecodedAction | DecodedObservation | UnknownEvent;

/** Never throws, whatever the log holds. */
export function decodeEvent(value: unknown): DecodedEvent {
  return decode(value) as unknown as DecodedEvent;
}
